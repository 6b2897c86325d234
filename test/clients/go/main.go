package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"time"

	"clients/api"

	"github.com/google/uuid"
)

func expect(what string, found, expected any) {
	if found != expected {
		log.Fatalf("%s: %v instead of %v", what, found, expected)
	}
	fmt.Println("  " + what)
}

func must[Value any](value Value, err error) Value {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func pointer[Value any](value Value) *Value { return &value }

// form has a file with its own Content-Type: that of CreateFormFile is application/octet-stream.
func form(name, contentType, content string) (string, io.Reader) {
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", fmt.Sprintf(`form-data; name="file"; filename="%s"`, name))
	header.Set("Content-Type", contentType)
	part := must(writer.CreatePart(header))
	must(part.Write([]byte(content)))
	if err := writer.WriteField("data", `{"scope":"ephemeral"}`); err != nil {
		log.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		log.Fatal(err)
	}
	return writer.FormDataContentType(), &body
}

func main() {
	ctx := context.Background()
	agent := uuid.MustParse(os.Getenv("AGENT_ID"))
	large := must(strconv.ParseInt(os.Getenv("CHAT_ID"), 10, 64))
	withKey := api.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("x-api-key", os.Getenv("API_KEY"))
		return nil
	})
	client := must(api.NewClientWithResponses(os.Getenv("BASE_URL"), withKey))

	chat := must(client.CreateChatWithResponse(ctx, nil, api.CreateChatRequest{Name: "Go", AgentId: agent})).JSON200.Data
	contentType, body := form("a.txt", "text/plain", "Text")
	uploaded := must(client.UploadFileWithBodyWithResponse(ctx, contentType, body)).JSON200.Data
	expect("upload", string(uploaded.Scope), "ephemeral")

	// The default of stream is true, and this client reads JSON alone.
	message := api.SendMessageRequest{Message: "Hello", Stream: pointer(false), AgentId: agent}
	reply := must(client.SendMessageWithResponse(ctx, chat.Id, nil, message)).JSON200
	expect("plain reply", reply.Data != "", true)

	must(client.SendMessageWithResponse(ctx, large, nil, message))
	user := "ann"
	history := must(client.ListMessagesWithResponse(ctx, large, &api.ListMessagesParams{ExternalUserId: &user})).JSON200.Data
	expect("message id past 2^31", history[1].Id > 1<<31, true)
	feedback := api.RecordFeedbackRequest{ExternalUserId: user, Type: "sys_helpful"}
	rated := must(client.RecordFeedbackWithResponse(ctx, large, history[1].Id, feedback)).JSON200
	expect("feedback", *rated.Message, "Feedback created")

	requests := []api.BatchRequestItem{{CustomId: "one", Message: "Hello"}}
	batch := must(client.CreateBatchWithResponse(ctx, nil, api.CreateBatchRequest{AgentId: agent, Requests: requests})).JSON202.Data
	for must(client.GetBatchWithResponse(ctx, batch.Id)).JSON200.Data.Status != "completed" {
		time.Sleep(50 * time.Millisecond)
	}
	results := must(client.ListBatchResultsWithResponse(ctx, batch.Id, nil)).JSON200.Data
	expect("batch", string(results[0].Status), "success")

	missing := must(client.GetChatWithResponse(ctx, 999_999_999, nil)).JSON404
	expect("error", missing.ErrorCode, int32(10003))
}
