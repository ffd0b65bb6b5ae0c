import { parseJson } from '../../base/json.js';
/** Messages of JSON-RPC 2.0 as MCP uses them (specification 2025-06-18). */
export interface JsonRpcMessage {
  jsonrpc: '2.0';
  /** Of a request and its reply; a notification has none. */
  id?: string | number;
  method?: string;
  params?: Readonly<Record<string, unknown>>;
  result?: unknown;
  error?: { code: number; message: string };
}

export interface LinkEvents {
  onMessage: (message: JsonRpcMessage) => void;
  /** The server is gone; nothing comes after it. Called once, not after `close`. */
  onClosed: (reason: string) => void;
}

/** How messages get to one server and back. */
export interface McpLink {
  /**
   * Sends one message. Resolves when everything that comes in answer to it has come, where the link can tell. Rejects
   * where it cannot be sent, and with the signal's reason when that is aborted.
   */
  send(message: JsonRpcMessage, signal: AbortSignal): Promise<void>;
  /** What was agreed on; goes with every message from then on. */
  agreed(protocolVersion: string): void;
  /** May be called twice. */
  close(): Promise<void>;
}

/** Largest message of a server, in bytes. */
export const MAX_MESSAGE_BYTES = 1_048_576;

/** A server's message; null for anything else. */
export function readMessage(text: string): JsonRpcMessage | null {
  try {
    const value: unknown = parseJson(text);
    const is = typeof value === 'object' && value !== null && 'jsonrpc' in value && value.jsonrpc === '2.0';
    return is ? (value as JsonRpcMessage) : null;
  } catch {
    return null;
  }
}
