/** Calls an operation of a service that speaks AWS's JSON protocol; `target` is, for example, AmazonSQS.SendMessage. */
export async function callAwsJson<Output>(endpoint: string, target: string, input: object): Promise<Output> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': target },
    body: JSON.stringify(input),
  });
  const body = (await response.json()) as Output & { message?: string };
  if (response.ok) return body;
  throw new Error(`${target}: ${body.message ?? response.status}`);
}
