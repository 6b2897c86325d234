/** What is read of an annotation of PDF.js, which has no types for it. */
export interface Annotation {
  subtype?: string;
  /** Bits, as in the PDF. */
  annotationFlags?: number;
  contentsObj?: { str?: string };
  fieldType?: string;
  fieldName?: string;
  /** The field's name for readers. */
  alternativeText?: string;
  fieldValue?: unknown;
  password?: boolean;
  checkBox?: boolean;
  radioButton?: boolean;
  /** The value of a checkbox that is checked. */
  exportValue?: string;
  /** The value of a radio button that is chosen. */
  buttonValue?: string;
  options?: { exportValue?: unknown; displayValue?: unknown }[];
}

/** Bits of the flags: invisible or hidden. */
const hidden = 0x1 | 0x2;

/** The values of form fields as `name: value`, notes on the page, and comments. Empty and hidden ones are left out. */
export const annotationTexts = (annotations: readonly Annotation[]): string[] =>
  annotations
    .filter(({ annotationFlags = 0 }) => (annotationFlags & hidden) === 0)
    .map((annotation) => (annotation.subtype === 'Widget' ? fieldText(annotation) : noteText(annotation)))
    .filter((text) => text !== '');

function noteText({ subtype, contentsObj }: Annotation): string {
  const contents = contentsObj?.str?.trim() ?? '';
  if (contents === '' || subtype === 'Link' || subtype === 'Popup') return '';
  return subtype === 'FreeText' ? contents : `[Comment: ${contents}]`;
}

function fieldText(field: Annotation): string {
  const value = field.password ? '' : shownValue(field).trim();
  return value === '' ? '' : `${field.alternativeText || field.fieldName}: ${value}`;
}

function shownValue({ fieldType, fieldValue, options, ...button }: Annotation): string {
  if (fieldType === 'Btn') {
    const value = button.radioButton ? button.buttonValue : button.exportValue;
    return (button.checkBox || button.radioButton) && fieldValue === value ? (value ?? '') : '';
  }
  const values = [fieldValue].flat().filter((value) => typeof value === 'string');
  return values
    .map((value) => options?.find(({ exportValue }) => exportValue === value)?.displayValue ?? value)
    .join(', ');
}
