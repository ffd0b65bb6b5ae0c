import type { KeyScope } from '../../store/keys.js';
import type { InnerAnswer, InnerRequest } from '../http/inner-requests.js';

/** The client of an MCP request, with its key. */
export interface McpCaller {
  scopes: readonly KeyScope[];
  /** Sends a request to an endpoint with the client's key. Resolves with 504 after the deadline. */
  send: (request: Pick<InnerRequest, 'method' | 'url' | 'headers' | 'body'>) => Promise<InnerAnswer>;
}
