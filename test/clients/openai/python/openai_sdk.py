import base64
import os
import pathlib
from concurrent.futures import ThreadPoolExecutor

import openai
from run_checks import expect_error, run_checks

BASE, KEY, AGENT, TOOL_AGENT = (os.environ[name] for name in ("BASE", "KEY", "AGENT", "TOOL_AGENT"))


def client_of(key):
    return openai.OpenAI(base_url=f"{BASE}/openai", api_key=key)


client = client_of(KEY)


def messages_of(content):
    return [{"role": "user", "content": content}]


def complete(content, **fields):
    return client.chat.completions.create(**{"model": AGENT, "messages": messages_of(content), **fields})


def read_stream(stream):
    text, usage = "", None
    for chunk in stream:
        text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        usage = chunk.usage or usage
    return text, usage


def models():
    assert AGENT in [model.id for model in client.models.list()]


def plain():
    completion = complete("Two words")
    assert completion.choices[0].message.content == "One two"
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == 5


def stream():
    text, usage = read_stream(complete("Two words", stream=True, stream_options={"include_usage": True}))
    assert text == "One two"
    assert usage.total_tokens == 5


def steps():
    ended = 0
    with client.chat.completions.stream(model=TOOL_AGENT, messages=messages_of("Six steps")) as runner:
        for event in runner:
            if event.type == "chunk":
                ended += sum(step["ended_at"] is not None for step in getattr(event.chunk, "agent_steps", None) or [])
        completion = runner.get_final_completion()
    assert completion.choices[0].message.content == "One two"
    assert ended == 6, ended


def wrong_key():
    wrong = client_of("ak_wrong").chat.completions
    expect_error(openai.AuthenticationError, lambda: wrong.create(model=AGENT, messages=messages_of("Hi")))


def unknown_model():
    expect_error(openai.NotFoundError, lambda: complete("Hi", model="gpt-5"))


def rate_limit():
    limited = client_of(os.environ["LIMITED_KEY"]).chat.completions
    request = {"model": os.environ["LIMITED_AGENT"], "messages": messages_of("Two words")}
    with ThreadPoolExecutor(2) as threads:
        for completion in threads.map(lambda _: limited.create(**request), range(2)):
            assert completion.choices[0].message.content == "One two"


def broken_stream():
    expect_error(openai.APIError, lambda: read_stream(complete("Break", stream=True)))


def image():
    url = f"data:image/png;base64,{base64.b64encode(pathlib.Path(os.environ['IMAGE']).read_bytes()).decode()}"
    parts = [{"type": "text", "text": "Count images"}, {"type": "image_url", "image_url": {"url": url}}]
    assert complete(parts).choices[0].message.content == "1 image"


def paid_once():
    for failure in ("Answer 500", "Stay silent", "Reject", "Break, whole"):
        expect_error(openai.APIError, lambda: complete(failure))
    assert complete("Filter").choices[0].finish_reason == "content_filter"
    expect_error(openai.APIError, lambda: read_stream(complete("Break, streamed", stream=True)))


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
