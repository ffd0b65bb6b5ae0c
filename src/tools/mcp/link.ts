import { parseJson } from '../../base/json.js';
/** JSON-RPC 2.0 messages as MCP uses them (specification 2025-06-18). */
export interface JsonRpcMessage {
  jsonrpc: '2.0';
  /** Set on a request and its reply, not on a notification. */
  id?: string | number;
  method?: string;
  params?: Readonly<Record<string, unknown>>;
  result?: unknown;
  error?: { code: number; message: string };
}

export interface LinkEvents {
  onMessage: (message: JsonRpcMessage) => void;
  /** The connection is lost and sends nothing more. Called once, not after `close`. */
  onClosed: (reason: string) => void;
}

/** The transport to one server. */
export interface McpLink {
  /**
   * Sends one message. Resolves when all messages in reply have arrived, if the transport can tell. Rejects if sending
   * fails, and with the signal's reason when it is aborted.
   */
  send(message: JsonRpcMessage, signal: AbortSignal): Promise<void>;
  /** The negotiated protocol version; sent with every later message. */
  agreed(protocolVersion: string): void;
  close(): Promise<void>;
}

/** Maximum size of a server message, in bytes. */
export const MAX_MESSAGE_BYTES = 1_048_576;

/** Parses a server message; null if invalid. */
export function readMessage(text: string): JsonRpcMessage | null {
  try {
    const value: unknown = parseJson(text);
    const is = typeof value === 'object' && value !== null && 'jsonrpc' in value && value.jsonrpc === '2.0';
    return is ? (value as JsonRpcMessage) : null;
  } catch {
    return null;
  }
}
