/** Whether a content type is one of the API's binary media types. Parameters such as a boundary are ignored. */
export function isBinaryType(binaryMediaTypes: readonly string[], contentType: string | undefined): boolean {
  const [type = ''] = (contentType ?? '').toLowerCase().split(';');
  const [family] = type.trim().split('/');
  return binaryMediaTypes.some(
    (candidate) =>
      candidate === '*/*' || candidate.toLowerCase() === type.trim() || candidate === `${family}/*`,
  );
}
