// Browsers allow the clipboard only on https and localhost. The old command works everywhere.
export default function ({ parentElement, data }) {
  const button = parentElement.querySelector("button");
  button.onclick = async () => {
    const text = data.text || location.href;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy link"; }, 2000);
  };
}
