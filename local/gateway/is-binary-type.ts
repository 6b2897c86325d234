/** Whether a content type is among the API's binary media types; parameters such as a boundary do not count. */
export function isBinaryType(binaryMediaTypes: readonly string[], contentType: string | undefined): boolean {
  const [type = ''] = (contentType ?? '').toLowerCase().split(';');
  const [family] = type.trim().split('/');
  return binaryMediaTypes.some(
    (candidate) =>
      candidate === '*/*' || candidate.toLowerCase() === type.trim() || candidate === `${family}/*`,
  );
}
