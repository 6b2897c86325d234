import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.UUID;
import org.apache.http.HttpEntity;
import org.apache.http.entity.ContentType;
import org.apache.http.entity.mime.MultipartEntityBuilder;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.BatchesApi;
import org.openapitools.client.api.ChatsApi;
import org.openapitools.client.api.FeedbackApi;
import org.openapitools.client.api.MessagesApi;
import org.openapitools.client.model.*;

public class Drive {
  static void expect(String what, Object found, Object expected) {
    if (!expected.equals(found)) throw new IllegalStateException(what + ": " + found + " instead of " + expected);
    System.out.println("  " + what);
  }

  /** The generated method sends the file as application/octet-stream, which the service rejects. */
  static UploadedFileEnvelope upload(ApiClient client, String baseUrl, String apiKey) throws Exception {
    HttpEntity form =
        MultipartEntityBuilder.create()
            .addBinaryBody("file", "Text".getBytes(), ContentType.TEXT_PLAIN, "a.txt")
            .addTextBody("data", "{\"scope\":\"ephemeral\"}", ContentType.APPLICATION_JSON)
            .build();
    var bytes = new java.io.ByteArrayOutputStream();
    form.writeTo(bytes);
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(baseUrl + "/chats/upload-file"))
            .header("x-api-key", apiKey)
            .header("Content-Type", form.getContentType().getValue())
            .POST(HttpRequest.BodyPublishers.ofByteArray(bytes.toByteArray()))
            .build();
    String body = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
    return client.getObjectMapper().readValue(body, UploadedFileEnvelope.class);
  }

  public static void main(String[] arguments) throws Exception {
    String baseUrl = System.getenv("BASE_URL");
    String apiKey = System.getenv("API_KEY");
    UUID agent = UUID.fromString(System.getenv("AGENT_ID"));
    long large = Long.parseLong(System.getenv("CHAT_ID"));
    ApiClient client = new ApiClient();
    client.updateBaseUri(baseUrl);
    client.setRequestInterceptor(request -> request.header("x-api-key", apiKey));
    ChatsApi chats = new ChatsApi(client);
    MessagesApi messages = new MessagesApi(client);
    BatchesApi batches = new BatchesApi(client);

    Chat chat = chats.createChat(new CreateChatRequest().name("Java").agentId(agent), null).getData();
    UploadedFileEnvelope uploaded = upload(client, baseUrl, apiKey);
    expect("upload", uploaded.getData().getScope().getValue(), "ephemeral");

    // The default of stream is true, and this client reads JSON alone.
    SendMessageRequest message = new SendMessageRequest().message("Hello").stream(false).agentId(agent);
    expect("plain reply", messages.sendMessage(chat.getId(), message, null).getData().isEmpty(), false);

    messages.sendMessage(large, message, null);
    List<Message> history = messages.listMessages(large, null, null, "ann", null, null).getData();
    Long reply = history.get(1).getId();
    expect("message id past 2^31", reply > (1L << 31), true);
    RecordFeedbackRequest feedback =
        new RecordFeedbackRequest().externalUserId("ann").type(RecordFeedbackRequest.TypeEnum.SYS_HELPFUL);
    expect("feedback", new FeedbackApi(client).recordFeedback(large, reply, feedback).getMessage(), "Feedback created");

    List<BatchRequestItem> requests = List.of(new BatchRequestItem().customId("one").message("Hello"));
    Batch batch = batches.createBatch(new CreateBatchRequest().agentId(agent).requests(requests), null).getData();
    while (batches.getBatch(batch.getId()).getData().getStatus() != Batch.StatusEnum.COMPLETED) Thread.sleep(50);
    BatchResult result = batches.listBatchResults(batch.getId(), null, null, null).getData().get(0);
    expect("batch", result.getStatus().getValue(), "success");

    try {
      chats.getChat(999_999_999L, null, null);
      throw new IllegalStateException("No error");
    } catch (ApiException error) {
      ErrorEnvelope envelope = client.getObjectMapper().readValue(error.getResponseBody(), ErrorEnvelope.class);
      expect("error", error.getCode() + "/" + envelope.getErrorCode(), "404/10003");
    }
  }
}
