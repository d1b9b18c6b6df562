"""NumPy archives: the arrays that people save, and those that must not be opened."""

import io
import pickle
import zipfile

import numpy as np
import pytest
from scipy.special import softmax

from calib.loading import InputError, guess, load, read
from calib.loading.reading.budget import Budget
from tests.assessed import inspect
from tests.golden import Texts

RNG = np.random.default_rng(5)
LOGITS = RNG.normal(0.0, 2.0, (200, 5)).astype(np.float32)
P = softmax(LOGITS, axis=1)
LABEL = RNG.integers(0, 5, 200)


def npz(*, compressed: bool = False, **arrays) -> bytes:
    stream = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(stream, **arrays)
    return stream.getvalue()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("scores", "labels"),
    [("probs", "y"), ("y_prob", "y_true"), ("predictions", "labels"), ("arr_0", "targets")],
)
def test_names_that_people_use(scores, labels, compressed) -> None:
    predictions = load(npz(compressed=compressed, **{scores: P, labels: LABEL}))
    assert predictions.class_names == ("0", "1", "2", "3", "4")
    np.testing.assert_array_equal(predictions.outcome, LABEL)
    np.testing.assert_allclose(predictions.scores, P, rtol=1e-6)


def test_cnn(shared) -> None:
    path = shared / "data/cnn/efs_wideresnet-16-4-cifar-10.npz"
    predictions = load(path)
    with np.load(path) as data:
        np.testing.assert_array_equal(predictions.outcome, data["y"])
        np.testing.assert_allclose(predictions.scores, data["probs"], rtol=1e-6, atol=1e-30)


def test_logits_are_asked_for() -> None:
    table = read(npz(logits=LOGITS, y=LABEL))
    (problem,) = [p for p in inspect(table, guess(table)) if p.severity == "error"]
    assert problem.repair.transform == "softmax"
    scores = load(npz(logits=LOGITS, y=LABEL), transform="softmax").scores
    np.testing.assert_allclose(scores, P, rtol=1e-5)


@pytest.mark.parametrize("order", ["C", "F"])
def test_class_names_one_hot_labels_and_columns(order) -> None:
    names = np.array(["ant", "bee", "cow", "dog", "eel"])
    split = np.where(np.arange(200) % 2, "test", "cal")
    data = npz(probs=np.asarray(P, order=order), y=np.eye(5)[LABEL], class_names=names, split=split)
    predictions = load(data)
    assert predictions.class_names == tuple(names)
    np.testing.assert_array_equal(predictions.outcome, LABEL)
    np.testing.assert_allclose(predictions.scores, P, rtol=1e-6)
    np.testing.assert_array_equal(predictions.test, np.arange(200) % 2 == 1)


def test_binary_archives() -> None:
    y = LABEL % 2
    for scores in (P[:, 0], P[:, :1]):
        predictions = load(npz(probs=scores, y=y))
        np.testing.assert_allclose(predictions.scores, P[:, 0], rtol=1e-6)
        np.testing.assert_array_equal(predictions.outcome, y)


def test_arrays_of_other_shapes_are_left_out_and_told(texts: Texts) -> None:
    table = read(npz(probs=P, y=LABEL, images=np.zeros((200, 2, 2)), threshold=np.float64(0.5)))
    texts.shown(table.notes[0].sentence)
    assert table.columns == (*(f"probs_{k}" for k in range(5)), "y")


def test_half_precision_and_other_byte_orders() -> None:
    for kind in (np.float16, ">f4", ">f8"):
        np.testing.assert_allclose(load(npz(probs=P.astype(kind), y=LABEL)).scores, P, atol=1e-3)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("it was unpickled",))


def test_objects_are_never_unpickled(texts: Texts) -> None:
    hostile = np.empty(200, dtype=object)
    hostile[:] = [Bomb()] * 200
    with texts.raises(InputError):
        read(npz(probs=P, y=hostile))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("y.npy", pickle.dumps([1, 2, 3]))
    with texts.raises(InputError):
        read(stream.getvalue())


def npy(values) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def member(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("y.npy", content)
    return stream.getvalue()


def header(shape: str, descr: str = "<f8") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin-1")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY\x01\x00",
        header("(1000000000000,)"),
        header("(3,)") + b"\0" * 8,
        header("(-1,)") + b"\0" * 64,
        header("(True,)") + b"\0" * 64,
        header("(2,)", "|S0") + b"\0" * 64,
        header("__import__('os')") + b"\0" * 64,
        b"\x93NUMPY\x09\x00" + b"\0" * 64,
        # Python's tokenizer and numpy's reader of types have errors of their own for these.
        *(header(shape) + b"\0" * 64 for shape in ("(3,", "(3L,)}}", "(" * 60, "(3,) '")),
        *(header("(3,)", descr) + b"\0" * 64 for descr in ("", ",", "(", "<M8[", "\xff", "\\N")),
    ],
)
def test_damaged_arrays(content) -> None:
    with pytest.raises(InputError) as caught:
        read(member(content))
    assert caught.value.problems[0].code in ("damaged", "empty")
    assert caught.value.__cause__ is None


def test_dates_that_are_too_far_away_are_refused(texts: Texts) -> None:
    days = np.array([2**60, 2**61], "<M8[D]")
    with texts.raises(InputError) as caught:
        read(npz(p=np.array([0.2, 0.7]), y=np.array([0, 1]), day=days))
    assert caught.value.problems[0].code == "dates"


def test_a_large_archive_is_not_unpacked(texts: Texts) -> None:
    data = npz(compressed=True, probs=np.zeros((100_000, 10)), y=np.zeros(100_000))
    assert len(data) < 100_000
    with texts.raises(InputError):
        read(data, budget=Budget(size=1_000_000))


def test_two_arrays_of_one_name_are_refused(texts: Texts) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("probs.npy", npy(P))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("probs.npy", npy(P[::-1]))
    with texts.raises(InputError):
        read(stream.getvalue())


def test_headers_of_python_2_are_read() -> None:
    old = header("(200L,)") + (LABEL % 2).astype("<f8").tobytes()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("y.npy", old)
        archive.writestr("probs.npy", npy(P[:, 0]))
    with pytest.warns(UserWarning, match="created on Python 2"):
        predictions = load(stream.getvalue())
    np.testing.assert_array_equal(predictions.outcome, LABEL % 2)


def test_an_array_with_a_wrong_checksum_is_refused() -> None:
    data = bytearray(npz(probs=P, y=LABEL))
    data[data.index(P.tobytes()) + 40] ^= 1
    with pytest.raises(InputError):
        read(bytes(data))


def test_text_that_is_none_is_refused(texts: Texts) -> None:
    letters = np.full(800, 0xD800, np.uint32)
    for data in (
        npz(probs=P, y=letters.view("<U4")),
        npz(probs=P, y=(letters + 0xFF0000).view("<U4")),
    ):
        with texts.raises(InputError):
            load(data)


def test_numbers_beyond_double_precision_and_damaged_ones_are_told_without_a_warning(
    texts: Texts,
) -> None:
    y = LABEL % 2
    long = P[:, 0].astype(np.longdouble)
    np.testing.assert_allclose(load(npz(probs=long, y=y)).scores, P[:, 0], rtol=1e-6)
    long[3] = np.longdouble("1e400")
    with texts.raises(InputError):
        load(npz(probs=long, y=y))
    signalling = P[:, 0].copy()
    signalling.view(np.uint32)[3] = 0x7F800001
    with texts.raises(InputError):
        load(npz(probs=signalling, y=y))


def test_a_matrix_with_damaged_numbers_is_told_without_a_warning(texts: Texts) -> None:
    signalling = P.copy()
    signalling.view(np.uint32)[3, 1] = 0x7F800001
    with texts.raises(InputError):
        load(npz(probs=signalling, extra=P[:, 0].astype(np.float64), y=LABEL))
