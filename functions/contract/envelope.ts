import type { Pagination } from './pagination-object.ts';

/** The envelope of every JSON response (specification, section 2.1). */
export interface Envelope {
  data: unknown;
  message: string | null;
  error_code: number;
  pagination?: Pagination;
}

export const success = (data: unknown, message: string | null = null): Envelope => ({
  data,
  message,
  error_code: 0,
});

export const failure = (errorCode: number, message: string, data: unknown = null): Envelope => ({
  data,
  message,
  error_code: errorCode,
});
