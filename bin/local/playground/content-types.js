const openXml = 'application/vnd.openxmlformats-officedocument';

/**
 * The content types of the extensions that the service takes. Systems often give a file no type, or that of the program
 * that opens it.
 *
 * @type {Record<string, string>}
 */
export const contentTypes = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  doc: 'application/msword',
  docx: `${openXml}.wordprocessingml.document`,
  pptx: `${openXml}.presentationml.presentation`,
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
};
