/**
 * The operations of `/openapi.json` as the clients show them: a resource for each tag, a method for each operation.
 *
 * @typedef {{
 *   $ref?: string, type?: string | string[], const?: unknown, enum?: unknown[], description?: string,
 *   properties?: Record<string, Schema>, required?: string[], additionalProperties?: boolean | Schema,
 *   items?: Schema, examples?: string[], anyOf?: Schema[], oneOf?: Schema[], default?: unknown,
 * }} Schema
 * @typedef {{ name: string, schema: Schema, required: boolean, description?: string }} Parameter
 * @typedef {{
 *   id: string, resource: string, name: string, verb: string, path: string, summary: string, description?: string,
 *   params: Parameter[], query: Parameter[], isIdempotent: boolean, body: { schema: Schema, required: boolean } | null,
 *   isUpload: boolean, kind: 'json' | 'text' | 'bytes' | 'stream', answer: Schema | null,
 *   pages: { cursor: string, items: string | null, next: string } | null,
 *   stream: { events: Record<string, Schema>, last: { member: string, values: unknown[] } | null } | null,
 * }} Operation
 * @typedef {{ operations: Operation[], schemas: Record<string, Schema>, codes: string[] }} Model
 */

/** Tags that other clients serve: those made for OpenAI's API. */
const LEFT_OUT = new Set(['openai']);

/** Methods whose name does not follow from the operation's id. */
const NAMES = new Map([
  ['createCustomVoice', 'createCustom'],
  ['deleteCustomVoice', 'deleteCustom'],
  ['listCustomVoices', 'listCustom'],
  ['registerSipCall', 'registerSip'],
  ['createChatCompletion', 'stream'],
  ['startOutboundCall', 'start'],
  ['stopCalls', 'stopAll'],
  ['resumeCalls', 'resumeAll'],
  ['terminateSession', 'terminate'],
]);

/**
 * @param {any} document
 * @returns {Model}
 */
export function modelOf(document) {
  /** @type {Record<string, Schema>} */
  const schemas = { ...document.components.schemas };
  /** @type {Operation[]} */
  const operations = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [verb, operation] of Object.entries(/** @type {Record<string, any>} */ (methods))) {
      if (LEFT_OUT.has(operation.tags[0])) continue;
      operations.push(operationOf(operation, verb.toUpperCase(), path, schemas));
    }
  }
  const names = operations.map(({ resource, name }) => `${resource}.${name}`);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`Two operations are ${twice}: name one of them in NAMES`);
  return { operations, schemas, codes: schemas['ErrorDetail']?.properties?.['code']?.examples ?? [] };
}

/**
 * @param {any} operation
 * @param {string} verb
 * @param {string} path
 * @param {Record<string, Schema>} schemas
 * @returns {Operation}
 */
function operationOf(operation, verb, path, schemas) {
  const { operationId: id, tags, summary, description, parameters = [], requestBody, responses } = operation;
  /** @param {string} place */
  const at = (place) => parameters.filter((/** @type {any} */ each) => each.in === place);
  const [[type, media]] = /** @type {[[string, any]]} */ (Object.entries(responses['200'].content));
  const [[bodyType, body]] = /** @type {[[string, any]]} */ (Object.entries(requestBody?.content ?? { '': {} }));
  const isUpload = bodyType === 'multipart/form-data';
  return {
    id,
    resource: camel(tags[0].split(/[\s-]+/)),
    name: NAMES.get(id) ?? methodName(id, tags[0]),
    verb,
    path,
    summary,
    description,
    params: at('path'),
    query: at('query'),
    isIdempotent: at('header').some((/** @type {any} */ { name }) => name === 'idempotency-key'),
    body:
      requestBody === undefined || isUpload
        ? null
        : { schema: named(`${pascal(id)}Body`, body.schema, schemas), required: requestBody.required },
    isUpload,
    kind: kindOf(type),
    answer: media.schema === undefined ? null : named(`${pascal(id)}Answer`, media.schema, schemas),
    pages: operation['x-pagination'] ?? null,
    stream: operation['x-stream'] ?? null,
  };
}

/**
 * Gives an object without a name one.
 * @param {string} name
 * @param {Schema} schema
 * @param {Record<string, Schema>} schemas
 * @returns {Schema}
 */
function named(name, schema, schemas) {
  if (schema.properties === undefined) return schema;
  schemas[name] = schema;
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * @param {string} type
 * @returns {Operation['kind']}
 */
function kindOf(type) {
  if (type === 'application/json') return 'json';
  if (type === 'text/event-stream') return 'stream';
  return type.startsWith('audio/') ? 'bytes' : 'text';
}

/**
 * An operation's id without its resource: `listAgents` of the agents is `list`, `setAgentStatus` is `setStatus`.
 * @param {string} id
 * @param {string} tag
 */
function methodName(id, tag) {
  const noun = pascal(camel(tag.split(/[\s-]+/)));
  const singular = noun.replace(/ies$/, 'y').replace(/s$/, '');
  return id.replace(new RegExp(`(?<=^[a-z]+)(?:${noun}|${singular})(?=[A-Z]|$)`), '');
}

/**
 * @param {readonly Operation[]} operations
 * @returns {Map<string, Operation[]>}
 */
export function byResource(operations) {
  const groups = new Map();
  for (const operation of operations)
    groups.set(operation.resource, [...(groups.get(operation.resource) ?? []), operation]);
  return groups;
}

/** @param {string[]} words */
function camel([first = '', ...rest]) {
  return first.toLowerCase() + rest.map(pascal).join('');
}

/** @param {string} word */
export function pascal(word) {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** @param {string} text `agentId` of `agent_id` */
export function camelOf(text) {
  return camel(text.split(/[_-]/));
}

/** @param {string} text `call_logs` of `callLogs` */
export function snakeOf(text) {
  return text
    .replace('JUnit', 'Junit')
    .replace('WebRtc', 'Webrtc')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}

/** @param {Schema} schema the name that its `$ref` has */
export function refOf({ $ref }) {
  return $ref?.split('/').at(-1) ?? null;
}
