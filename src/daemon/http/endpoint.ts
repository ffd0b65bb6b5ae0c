import type { FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { ErrorCode } from '../../base/errors.js';
import type { KeyScope, StoredKey } from '../../store/keys.js';
import type { Owner } from './forwarder.js';

/** Schemas by member name. */
export type Shape = Readonly<Record<string, z.ZodType>>;

type Values<S extends Shape> = z.output<z.ZodObject<S>>;

/** A request with all parts validated. */
export interface CheckedRequest<P extends Shape, Q extends Shape, B extends z.ZodType> {
  params: Values<P>;
  query: Values<Q>;
  body: z.output<B>;
  /** The declared headers that the request has. */
  headers: Readonly<Record<string, string | undefined>>;
  /** The key of the request; null = the endpoint needs none. */
  key: StoredKey | null;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** A request of an endpoint and the answer to it, as the OpenAPI document shows them. A test checks both by the schemas. */
export interface EndpointExamples {
  body?: unknown;
  /** A 200 answer. */
  answer?: unknown;
  /** The error that the body gets until the operator sets up what it needs, such as a trunk. */
  refusal?: ErrorCode;
}

/** How a list gives its pages, for generated clients. */
export interface Pages {
  /** The query parameter that takes the cursor. */
  cursor: string;
  /** The member of the answer with the items; null = the answer is the list. */
  items: string | null;
  /** The member with the cursor of the next page, 0 at the end: of the answer, or of its last item if `items` is null. */
  next: string;
}

/** What a stream of events sends, for generated clients. They connect again unless the last event has arrived. */
export interface Events {
  /** The schema of each event's data, by the event's name. */
  events: Readonly<Record<string, z.ZodType>>;
  /** The member of an event's data and its values behind which nothing comes; null = the stream has no end. */
  last: { member: string; values: readonly (string | boolean)[] } | null;
}

/** Who may call an endpoint: holders of a private key, anyone, or those for whom the function does not throw. */
export type Gate = 'private' | 'open' | ((request: FastifyRequest) => void | Promise<void>);

/**
 * One endpoint: the source of its route, its validation and its part of the OpenAPI document.
 */
export interface Endpoint<P extends Shape, Q extends Shape, B extends z.ZodType, R extends z.ZodType> {
  /** The operation id, which names the method of generated clients: a verb and a noun, such as `listAgents`. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** In the notation of OpenAPI: `/agents/{agent_id}`. */
  path: string;
  /** Its tag in the OpenAPI document. */
  tag: string;
  /** The chapter of the document. Default the tag. */
  chapter?: string;
  /** One line. */
  summary: string;
  description?: string;
  /** Default `private`. */
  gate?: Gate;
  /** What a private key must allow. Default `read` for GET, else `write`. */
  scope?: KeyScope;
  /** The security requirement in the document. Default `none` with the gate `open`, else `key`. */
  security?: 'key' | 'optional' | 'none';
  /** One schema for each name in the path. */
  params?: P;
  /** Schemas of the query. The values are parsed from text. */
  query?: Q;
  /** Request headers beside `authorization`, by lower-case name: optional texts. */
  headers?: Shape;
  /** Default: no body, or an empty object. */
  body?: B;
  /** Largest body in bytes. Default the operator's `limits.bodyBytes`. */
  bodyBytes?: number;
  /** Media type of a body that the endpoint reads itself, as a stream. */
  upload?: string;
  /** The JSON of the 200 answer, or the data of one event of a stream. */
  answer?: R;
  /** Media type of an answer other than JSON. */
  content?: string;
  /** Of a list in pages. */
  pages?: Pages;
  /** Of a stream of events that a client can open again. */
  stream?: Events;
  /** Other statuses with the same JSON, and their descriptions. */
  statuses?: Readonly<Record<number, string>>;
  /** Other errors that it can answer. The catalogue has their statuses. */
  errors?: readonly ErrorCode[];
  /** Required for a body and for an answer; an answer of `success` has its own example. */
  examples?: () => EndpointExamples;
  /**
   * The node that has what the request is about, such as a running call. Another node than this one answers instead.
   * Null = any node can answer. Not with `upload`.
   */
  owner?: (call: Pick<CheckedRequest<P, Q, B>, 'params' | 'query' | 'body'>) => Promise<Owner | null> | Owner | null;
  handle: (call: CheckedRequest<P, Q, B>) => Promise<z.output<R> | FastifyReply> | z.output<R> | FastifyReply;
}

/** An endpoint without its type parameters. */
export type AnyEndpoint = Endpoint<Shape, Shape, z.ZodType, z.ZodType>;

/** What a private key must allow. */
export function scopeOf({ method, scope }: Pick<AnyEndpoint, 'method' | 'scope'>): KeyScope {
  return scope ?? (method === 'GET' ? 'read' : 'write');
}

/** The answer of endpoints without a result. */
export const success = z.strictObject({ success: z.boolean() }).meta({ id: 'Success' });
