import base64
import os
import pathlib
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add

import openai
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from run_checks import expect_error, run_checks

BASE, KEY, AGENT, TOOL_AGENT = (os.environ[name] for name in ("BASE", "KEY", "AGENT", "TOOL_AGENT"))


def model_of(model=AGENT, key=KEY):
    return ChatOpenAI(base_url=f"{BASE}/openai", api_key=key, model=model)


model = model_of()


def read_stream(stream):
    return reduce(add, stream)


def plain():
    reply = model.invoke("Two words")
    assert reply.content == "One two"
    assert reply.usage_metadata["total_tokens"] == 5


def stream():
    reply = read_stream(ChatOpenAI(base_url=f"{BASE}/openai", api_key=KEY, model=AGENT, stream_usage=True).stream("Two words"))
    assert reply.content == "One two"
    assert reply.usage_metadata["total_tokens"] == 5


def steps():
    assert read_stream(model_of(TOOL_AGENT).stream("Six steps")).content == "One two"


def wrong_key():
    expect_error(openai.AuthenticationError, lambda: model_of(key="ak_wrong").invoke("Hi"))


def unknown_model():
    expect_error(openai.NotFoundError, lambda: model_of("gpt-5").invoke("Hi"))


def rate_limit():
    limited = model_of(os.environ["LIMITED_AGENT"], os.environ["LIMITED_KEY"])
    with ThreadPoolExecutor(2) as threads:
        for reply in threads.map(limited.invoke, ["Two words"] * 2):
            assert reply.content == "One two"


def broken_stream():
    expect_error(openai.APIError, lambda: read_stream(model.stream("Break")))


def image():
    url = f"data:image/png;base64,{base64.b64encode(pathlib.Path(os.environ['IMAGE']).read_bytes()).decode()}"
    parts = [{"type": "text", "text": "Count images"}, {"type": "image_url", "image_url": {"url": url}}]
    assert model.invoke([HumanMessage(content=parts)]).content == "1 image"


def paid_once():
    for failure in ("Answer 500", "Stay silent", "Reject", "Break, whole"):
        expect_error(openai.APIError, lambda: model.invoke(failure))
    assert model.invoke("Filter").response_metadata["finish_reason"] == "content_filter"
    expect_error(openai.APIError, lambda: read_stream(model.stream("Break, streamed")))


run_checks(
    {
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
