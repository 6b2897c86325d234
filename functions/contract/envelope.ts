import * as z from 'zod';
import { type Pagination, pagination } from './pagination.ts';

/** The response envelope of every answer (specification, section 2.1). */
export interface Envelope {
  data: unknown;
  message: string | null;
  error_code: number;
  pagination?: Pagination;
}

export const envelopeOf = <Data extends z.ZodType>(data: Data) =>
  z.object({ data, message: z.string().nullable(), error_code: z.literal(0) });

export const listEnvelopeOf = <Row extends z.ZodType>(row: Row) =>
  z.object({ data: z.array(row), message: z.string().nullable(), error_code: z.literal(0), pagination });

export const errorEnvelope = z
  .object({
    data: z.union([z.record(z.string(), z.unknown()), z.null()]),
    message: z.string(),
    error_code: z.int(),
  })
  .meta({ id: 'Error' });

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
