import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';

const certificate = 'its TLS certificate';
const noTls = 'it does not speak TLS as expected';

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing accepts connections there',
  ENOTFOUND: 'the name is unknown',
  EAI_AGAIN: 'the name cannot be looked up',
  EHOSTUNREACH: 'no network leads there',
  ENETUNREACH: 'no network leads there',
  ETIMEDOUT: 'it did not respond in time',
  TimeoutError: 'it did not respond in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not respond in time',
  ECONNRESET: 'it closed the connection',
  EPIPE: 'it closed the connection',
  UND_ERR_SOCKET: 'it closed the connection',
  EPROTO: noTls,
  CERT_HAS_EXPIRED: `${certificate} has expired`,
  CERT_NOT_YET_VALID: `${certificate} is not valid yet`,
  ERR_TLS_CERT_ALTNAME_INVALID: `${certificate} is for another name`,
  DEPTH_ZERO_SELF_SIGNED_CERT: `${certificate} is of no authority that this machine knows`,
  SELF_SIGNED_CERT_IN_CHAIN: `${certificate} is of no authority that this machine knows`,
  UNABLE_TO_GET_ISSUER_CERT: `${certificate} is of no authority that this machine knows`,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: `${certificate} is of no authority that this machine knows`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${certificate} is of no authority that this machine knows`,
};

const remedies: readonly (readonly [reason: string, remedy: string])[] = [
  [
    certificate,
    'Check the address and the clock of this machine; for an authority of your company, set NODE_EXTRA_CA_CERTS',
  ],
  [noTls, 'Check whether the address is http or https'],
];

/** By the error of the connection. A client may throw an error that is not noted: then `newestAddress` is taken. */
const addresses = new WeakMap<object, string>();
let newestAddress: string | undefined;

const note = (address: string, error: unknown): void => {
  newestAddress = address;
  if (error instanceof Error) addresses.set(error, address);
};

/** Call it first: `connectionFailureOf` knows only the addresses of later failures. */
export function noteAddresses(): void {
  subscribe('http.client.request.error', (message) => {
    const { request, error } = message as { request: ClientRequest; error: unknown };
    note(`${request.protocol}//${request.getHeader('host') ?? request.host}`, error);
  });
  subscribe('undici:client:connectError', (message) => {
    const { connectParams, error } = message as { connectParams: URL; error: unknown };
    note(`${connectParams.protocol}//${connectParams.host}`, error);
  });
}

/** @returns undefined if the reason is unknown; an `address` is such as `https://api.example.com` */
export function connectionFailureOf(error: Error) {
  const { code = '', name } = error as NodeJS.ErrnoException;
  const reason = reasons[code] ?? reasons[name] ?? (code.startsWith('ERR_SSL_') ? noTls : undefined);
  if (reason === undefined) return undefined;
  const address = addresses.get(error) ?? newestAddress;
  return { address, reason, remedy: remedies.find(([of]) => reason.startsWith(of))?.[1] };
}
