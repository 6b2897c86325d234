import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from run_checks import run_checks

BASE, KEY = os.environ["BASE"], os.environ["KEY"]
command = str(pathlib.Path(sys.executable).parent / "llm")
folder = tempfile.mkdtemp()
models_of_llm = {
    "guide": os.environ["AGENT"],
    "with-tools": os.environ["TOOL_AGENT"],
    "limited": os.environ["LIMITED_AGENT"],
    "unknown": "gpt-5",
}
pathlib.Path(folder, "extra-openai-models.yaml").write_text(
    "".join(
        f"- model_id: {name}\n  model_name: {agent}\n  api_base: {BASE}/openai\n  api_key_name: agents\n  vision: true\n"
        for name, agent in models_of_llm.items()
    )
)


def llm(*arguments):
    return subprocess.run(
        [command, *arguments],
        env={**os.environ, "LLM_USER_PATH": folder},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def reply(*arguments):
    ended = llm(*arguments)
    assert ended.returncode == 0, ended
    return ended.stdout.strip()


def error(*arguments):
    ended = llm(*arguments)
    assert ended.returncode != 0, ended
    return ended.stderr


def models():
    listed = reply("openai", "endpoint", f"{BASE}/openai", "--models", "--key", KEY)
    assert os.environ["AGENT"] in listed, listed


def plain():
    assert reply("-m", "guide", "--no-stream", "Two words") == "One two"


def stream():
    ended = llm("-m", "guide", "--usage", "Two words")
    assert ended.stdout.strip() == "One two", ended
    assert "3 input, 2 output" in ended.stderr, ended


def steps():
    assert reply("-m", "with-tools", "--hide-reasoning", "Six steps") == "One two"


def wrong_key():
    assert "401" in error("-m", "guide", "--key", "ak_wrong", "Hi")


def unknown_model():
    assert "404" in error("-m", "unknown", "Hi")


def rate_limit():
    with ThreadPoolExecutor(2) as threads:
        limited = ("-m", "limited", "--key", os.environ["LIMITED_KEY"], "Two words")
        assert list(threads.map(lambda _: reply(*limited), range(2))) == ["One two"] * 2


def broken_stream():
    assert "The model cannot be reached" in error("-m", "guide", "Break")


def image():
    assert reply("-m", "guide", "Count images", "-a", os.environ["IMAGE"]) == "1 image"


def paid_once():
    for failure in ("Answer 500", "Stay silent", "Reject", "Break, whole"):
        error("-m", "guide", "--no-stream", failure)
    reply("-m", "guide", "Filter")
    error("-m", "guide", "Break, streamed")


reply("keys", "set", "agents", "--value", KEY)
run_checks(
    {
        "models": models,
        "plain": plain,
        "stream": stream,
        "steps": steps,
        "wrong key": wrong_key,
        "unknown model": unknown_model,
        "rate limit": rate_limit,
        "broken stream": broken_stream,
        "image": image,
        "paid once": paid_once,
    }
)
