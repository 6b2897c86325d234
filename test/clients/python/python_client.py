import io
import os

from chat_and_batch_agent_service_client import AuthenticatedClient
from chat_and_batch_agent_service_client.api.batches import create_batch
from chat_and_batch_agent_service_client.api.chats import create_chat, get_chat
from chat_and_batch_agent_service_client.api.feedback import record_feedback
from chat_and_batch_agent_service_client.api.files import upload_file
from chat_and_batch_agent_service_client.api.messages import list_messages, send_message
from chat_and_batch_agent_service_client.models import (
    BatchRequestItem, CreateBatchRequest, CreateChatRequest, RecordFeedbackRequest, RecordFeedbackRequestType,
    SendMessageRequest, UploadData, UploadDataScope, UploadFileRequest,
)
from chat_and_batch_agent_service_client.types import File
from uuid import UUID

agent_id = UUID(os.environ["AGENT_ID"])
chat_id = int(os.environ["CHAT_ID"])
client = AuthenticatedClient(
    base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"], prefix="", auth_header_name="x-api-key"
)


def expect(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: {found!r} instead of {expected!r}")
    print(f"  {what}")


chat = create_chat.sync(client=client, body=CreateChatRequest(name="Python", agent_id=agent_id)).data
file = File(payload=io.BytesIO(b"one,two\n"), file_name="numbers.csv", mime_type="text/csv")
form = UploadFileRequest(file=file, data=UploadData(scope=UploadDataScope.EPHEMERAL))
expect("upload", str(upload_file.sync(client=client, body=form).data.scope), "ephemeral")
body = SendMessageRequest(message="Hello", stream=False, agent_id=agent_id)
expect("plain reply", type(send_message.sync(chat.id, client=client, body=body).data), str)

send_message.sync(chat_id, client=client, body=body)
history = list_messages.sync(chat_id, client=client, external_user_id="ann").data
expect("message id past 2^31", history[1].id > 2**31, True)
feedback = RecordFeedbackRequest(external_user_id="ann", type_=RecordFeedbackRequestType.SYS_HELPFUL)
rated = record_feedback.sync(chat_id, history[1].id, client=client, body=feedback)
expect("feedback", rated.message, "Feedback created")

requests = [BatchRequestItem(custom_id="one", message="Hello")]
batch = create_batch.sync(client=client, body=CreateBatchRequest(agent_id=agent_id, requests=requests))
expect("batch", batch.data.total_requests, 1)

missing = get_chat.sync_detailed(999_999_999, client=client)
expect("error", f"{missing.status_code}/{missing.parsed.error_code}", "404/10003")
