import os
import time

import openapi_client
from openapi_client import (
    BatchRequestItem, CreateBatchRequest, CreateChatRequest, RecordFeedbackRequest, SendMessageRequest,
)

agent_id = os.environ["AGENT_ID"]
chat_id = int(os.environ["CHAT_ID"])
configuration = openapi_client.Configuration(
    host=os.environ["BASE_URL"], api_key={"apiKey": os.environ["API_KEY"]}
)


def expect(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: {found!r} instead of {expected!r}")
    print(f"  {what}")


with openapi_client.ApiClient(configuration) as client:
    messages = openapi_client.MessagesApi(client)
    batches = openapi_client.BatchesApi(client)
    chats = openapi_client.ChatsApi(client)

    chat = chats.create_chat(CreateChatRequest(name="Python", agent_id=agent_id)).data
    # A tuple names the file: its type comes from the extension.
    uploaded = openapi_client.FilesApi(client).upload_file(("a.txt", b"Text"))
    expect("upload", uploaded.data.content_type, "text/plain")
    # The default of stream is true, and this client reads JSON alone.
    body = SendMessageRequest(
        message="Hello", stream=False, agent_id=agent_id, attached_file_uuids=[uploaded.data.uuid]
    )
    expect("plain reply", type(messages.send_message(chat.id, body).data), str)

    messages.send_message(chat_id, SendMessageRequest(message="Hi", stream=False, agent_id=agent_id))
    history = messages.list_messages(chat_id, external_user_id="ann", order_by="desc").data
    expect("message id past 2^31", history[0].id > 2**31, True)
    feedback = RecordFeedbackRequest(external_user_id="ann", type="sys_helpful")
    rated = openapi_client.FeedbackApi(client).record_feedback(chat_id, history[0].id, feedback)
    expect("feedback", rated.message, "Feedback created")

    requests = [BatchRequestItem(custom_id="one", message="Hello")]
    batch = batches.create_batch(CreateBatchRequest(agent_id=agent_id, requests=requests)).data
    while batches.get_batch(batch.id).data.status != "completed":
        time.sleep(0.05)
    expect("batch", batches.list_batch_results(batch.id).data[0].status, "success")

    try:
        chats.get_chat(999_999_999)
    except openapi_client.exceptions.NotFoundException as error:
        expect("error", f"{error.status}/{error.data.error_code} {error.data.message}", "404/10003 Chat not found")
    else:
        raise SystemExit("No error")
