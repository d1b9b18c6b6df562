// The browser shows these secrets when it connects. The latest come first, and old ones go, because a
// proxy refuses long cookies.
(secret => {
    const name = "COOKIE=", most = 8;
    const held = document.cookie.split("; ").find(cookie => cookie.startsWith(name)) ?? name;
    const others = held.slice(name.length).split(".").filter(other => other && other !== secret);
    const secure = location.protocol === "https:" ? "; Secure" : "";
    const value = [secret, ...others].slice(0, most).join(".");
    document.cookie = `${name}${value}; Path=/; SameSite=Strict${secure}`;
})("SECRET");
