import os

from forms import Adult, Person
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from run_checks import run_forms

BASE, KEY, AGENT = (os.environ[name] for name in ("BASE", "KEY", "AGENT"))
model = OpenAIChatModel(AGENT, provider=OpenAIProvider(base_url=f"{BASE}/openai", api_key=KEY))


def mode(output):
    return lambda content: Agent(model, output_type=output).run_sync(content).output


def streamed(content):
    return Agent(model, output_type=Person).run_stream_sync(content).get_output()


def again(output):
    """A second run sends the call of the tool and its result, if the first one had them."""

    def check():
        agent = Agent(model, output_type=output)
        first = agent.run_sync("Person")
        assert agent.run_sync("Person", message_history=first.all_messages()).output == first.output

    return check


def rejected(output):
    """After a person that only the client rejects, it sends the call of the tool and what is wrong with it."""

    def check():
        assert Agent(model, output_type=output).run_sync("Adult").output.age == 19

    return check


run_forms(
    {
        "default": mode(Person),
        "default, streamed": streamed,
        "NativeOutput": mode(NativeOutput(Person)),
        "PromptedOutput": mode(PromptedOutput(Person)),
        "ToolOutput": mode(ToolOutput(Person, name="person", strict=True)),
    },
    {
        "message_history": again(Person),
        "message_history, NativeOutput": again(NativeOutput(Person)),
        "message_history, PromptedOutput": again(PromptedOutput(Person)),
        "a validator": rejected(Adult),
        "a validator, NativeOutput": rejected(NativeOutput(Adult)),
    },
)
