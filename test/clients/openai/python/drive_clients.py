"""Drives OpenAI's SDK for Python, LangChain and the command llm against a local run. docs/openai.md has the same lines."""

import os
import pathlib
import subprocess
import sys
import tempfile

import openai
from langchain_openai import ChatOpenAI

BASE, KEY, AGENT, TOOL_AGENT = (os.environ[name] for name in ("BASE", "KEY", "AGENT", "TOOL_AGENT"))
DEMONSTRATION = "This is a demonstration"
USE_TOOL = 'Please use consultant_call_agent {"message": "Help"}'


def ask(text):
    return [{"role": "user", "content": text}]


def sdk():
    client = openai.OpenAI(base_url=f"{BASE}/openai", api_key=KEY)
    assert AGENT in [model.id for model in client.models.list()]
    completion = client.chat.completions.create(model=AGENT, messages=ask("What can you do?"))
    assert completion.choices[0].message.content.startswith(DEMONSTRATION)
    assert completion.choices[0].finish_reason == "stop"
    text, usage = "", None
    for chunk in client.chat.completions.create(
        model=AGENT,
        messages=ask("What can you do?"),
        stream=True,
        stream_options={"include_usage": True},
    ):
        text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        usage = chunk.usage or usage
    assert text == completion.choices[0].message.content
    assert usage.total_tokens > 0
    for error, key, change in (
        (openai.AuthenticationError, "ak_wrong", {}),
        (openai.NotFoundError, KEY, {"model": "gpt-5"}),
        (openai.BadRequestError, KEY, {"n": 2}),
    ):
        request = {"model": AGENT, "messages": ask("Hi"), **change}
        try:
            openai.OpenAI(base_url=f"{BASE}/openai", api_key=key).chat.completions.create(**request)
        except error:
            continue
        raise AssertionError(f"{error.__name__} was expected")
    steps = 0
    with client.chat.completions.stream(model=TOOL_AGENT, messages=ask(USE_TOOL)) as stream:
        for event in stream:
            if event.type == "chunk":
                steps += len(getattr(event.chunk, "agent_steps", None) or [])
        assert stream.get_final_completion().choices[0].message.content
    assert steps == 2, steps


def langchain():
    model = ChatOpenAI(base_url=f"{BASE}/openai", api_key=KEY, model=AGENT)
    reply = model.invoke("What can you do?")
    assert reply.content.startswith(DEMONSTRATION)
    assert reply.usage_metadata["total_tokens"] > 0
    assert "".join(chunk.content for chunk in model.stream("What can you do?")) == reply.content
    with_tool = ChatOpenAI(base_url=f"{BASE}/openai", api_key=KEY, model=TOOL_AGENT)
    assert "".join(chunk.content for chunk in with_tool.stream(USE_TOOL))


def llm():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "extra-openai-models.yaml").write_text(
            f"- model_id: guide\n  model_name: {AGENT}\n  api_base: {BASE}/openai\n  api_key_name: agents\n"
        )
        command = str(pathlib.Path(sys.executable).parent / "llm")
        environment = {**os.environ, "LLM_USER_PATH": folder}
        subprocess.run([command, "keys", "set", "agents", "--value", KEY], env=environment, check=True)
        for options in ([], ["--no-stream"]):
            reply = subprocess.run(
                [command, "-m", "guide", *options, "What can you do?"],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
            )
            assert reply.stdout.startswith(DEMONSTRATION), reply


for client in (sdk, langchain, llm):
    client()
    print(f"{client.__name__}: passed")
