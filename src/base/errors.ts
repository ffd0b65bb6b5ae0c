/**
 * One error of the catalogue: a message template, the HTTP status of the daemon's answer and whether a retry can help.
 * Codes are stable. `docs/errors.md` mirrors the catalogue; a test compares the two.
 */
interface CatalogueEntry {
  /** `{name}` is replaced from the error's details. */
  readonly message: string;
  readonly httpStatus: number;
  readonly retryable: boolean;
}

const CATALOGUE = {
  // audio
  AUDIO_WAV_INVALID: { message: 'The WAV file cannot be read: {reason}', httpStatus: 422, retryable: false },
  AUDIO_RATE_UNSUPPORTED: {
    message: 'The sample rate {sampleRateHz} Hz is not supported; use 8000 to 48000 Hz',
    httpStatus: 422,
    retryable: false,
  },
  AUDIO_UNDECODABLE: { message: 'The audio file cannot be used: {reason}', httpStatus: 422, retryable: false },
  AUDIO_DECODER_MISSING: {
    message:
      '{format} audio needs the program ffmpeg, which is not on PATH; install it (Debian: apt-get install ffmpeg)',
    httpStatus: 503,
    retryable: false,
  },
  // configuration
  CONFIG_INVALID: { message: 'The configuration is not valid: {reason}', httpStatus: 422, retryable: false },
  ARGUMENT_INVALID: { message: '{argument}: {reason}', httpStatus: 500, retryable: false },
  PROMPT_TOO_LONG: { message: 'The prompt is too long: {reason}', httpStatus: 413, retryable: false },
  // network
  NET_ADDRESS_REFUSED: { message: 'The address may not be called: {reason}', httpStatus: 422, retryable: false },
  NET_TIMEOUT: { message: 'The reply was not complete within {timeoutMs} ms', httpStatus: 504, retryable: true },
  NET_TOO_LARGE: { message: 'The reply is larger than {maxBytes} bytes', httpStatus: 502, retryable: false },
  NET_FAILED: { message: 'The request failed: {reason}', httpStatus: 502, retryable: true },
  // providers
  PROVIDER_UNKNOWN: {
    message: 'Unknown {kind} provider "{name}". Known: {known}',
    httpStatus: 422,
    retryable: false,
  },
  PROVIDER_NOT_CONFIGURED: {
    message:
      'The {kind} provider "{provider}" has no access to its vendor: set {missing} (in the library: EngineOptions.vendors.{vendor})',
    httpStatus: 422,
    retryable: false,
  },
  PROVIDER_CLOSED: {
    message:
      '{provider} has shut its service down: {reason}. Replace its voices with the setting voiceSubstitutes, or choose another',
    httpStatus: 422,
    retryable: false,
  },
  TURN_MODEL_UNUSABLE: {
    message: 'The turn model {path} cannot be used: {reason}',
    httpStatus: 500,
    retryable: false,
  },
  MODEL_UNKNOWN: {
    message:
      'No {kind} model {which} is installed. Installed: {known}. "parley models list" shows which can be downloaded',
    httpStatus: 422,
    retryable: false,
  },
  MODEL_UNUSABLE: { message: 'The model {model} cannot be used: {reason}', httpStatus: 500, retryable: false },
  MODEL_NOT_HAD: { message: 'The model {model} cannot be downloaded: {reason}', httpStatus: 502, retryable: true },
  MODEL_CHECKSUM_WRONG: {
    message: '{file} has the wrong checksum: its SHA-256 is {found}, but {source} says {expected}',
    httpStatus: 502,
    retryable: false,
  },
  LOCAL_ENGINE_MISSING: {
    message: 'Local models cannot run here: {reason}',
    httpStatus: 503,
    retryable: false,
  },
  PROVIDER_FAILED: { message: '{provider} failed: {reason}', httpStatus: 502, retryable: true },
  PROVIDER_REFUSED: { message: '{provider} refused the request: {reason}', httpStatus: 502, retryable: false },
  PROVIDER_TIMEOUT: { message: '{provider} did not answer within {timeoutMs} ms', httpStatus: 504, retryable: true },
  PROVIDER_REMOTE_IN_VIRTUAL_TIME: {
    message: '{provider} cannot run in virtual time: use --speed real',
    httpStatus: 422,
    retryable: false,
  },
  STT_LANGUAGE_UNSUPPORTED: {
    message: '{provider} does not support the language "{language}". Supported: {supported}',
    httpStatus: 422,
    retryable: false,
  },
  STT_CAPACITY: {
    message: '{provider} is at its limit of {limit} sessions',
    httpStatus: 503,
    retryable: true,
  },
  TTS_VOICE_UNKNOWN: {
    message: '{provider} has no voice "{voice}". Known: {known}',
    httpStatus: 422,
    retryable: false,
  },
  TTS_SETTING_INVALID: {
    message: 'The voice setting "{setting}" is not valid for {provider}: {reason}',
    httpStatus: 422,
    retryable: false,
  },
  TTS_LANGUAGE_UNSUPPORTED: {
    message: 'No voice for the language "{language}": {reason}',
    httpStatus: 422,
    retryable: false,
  },
  TTS_ENGINE_MISSING: { message: '{provider} cannot run here: {reason}', httpStatus: 503, retryable: false },
  // files
  PLUGIN_INVALID: { message: 'The plug-in {file} cannot be used: {reason}', httpStatus: 500, retryable: false },
  FILE_NOT_READABLE: { message: 'Cannot read {path}: {reason}', httpStatus: 422, retryable: false },
  FILE_NOT_WRITABLE: { message: 'Cannot write {path}: {reason}', httpStatus: 500, retryable: false },
  DISK_FULL: { message: 'The disk is full; free some space', httpStatus: 507, retryable: true },
  DATABASE_UNUSABLE: { message: 'The database {path} cannot be used: {reason}', httpStatus: 500, retryable: false },
  MIGRATION_REFUSED: { message: 'The data folder {path} was not copied: {reason}', httpStatus: 409, retryable: false },
  DATABASE_UNREACHABLE: { message: 'The database cannot be reached: {reason}', httpStatus: 503, retryable: true },
  SQLITE_MISSING: {
    message:
      'better-sqlite3, which stores all data, cannot run: {reason}. npm may have skipped its install script; run npm rebuild better-sqlite3 (if npm asks for approval, first npm approve-scripts better-sqlite3)',
    httpStatus: 500,
    retryable: false,
  },
  SECRETS_UNREADABLE: {
    message: 'The secrets in {what} cannot be decrypted: {reason}. See docs/keys.md',
    httpStatus: 500,
    retryable: false,
  },
  SECRETS_DIFFER: {
    message: '{what} does not fit the database: {reason}. See docs/keys.md',
    httpStatus: 500,
    retryable: false,
  },
  BACKUP_INVALID: { message: '{path} cannot be restored: {reason}', httpStatus: 422, retryable: false },
  // knowledge base
  KNOWLEDGE_FILE_TOO_LARGE: { message: '{name} is larger than {limit} bytes', httpStatus: 413, retryable: false },
  KNOWLEDGE_FULL: {
    message: 'The knowledge base is at its limit of {limit} files; delete one first',
    httpStatus: 413,
    retryable: false,
  },
  KNOWLEDGE_FILE_IN_USE: {
    message: 'The agent "{agent}" uses the knowledge file "{id}"; remove it from the agent first',
    httpStatus: 409,
    retryable: false,
  },
  KNOWLEDGE_FAILED: { message: 'The knowledge base failed: {reason}', httpStatus: 500, retryable: true },
  // phone network
  NUMBER_INVALID: {
    message: '{number} is not a phone number with a country code, such as +12025550123',
    httpStatus: 422,
    retryable: false,
  },
  NUMBER_UNAVAILABLE: { message: '{number} cannot be bought', httpStatus: 409, retryable: false },
  NUMBER_NONE_FOR_SALE: { message: 'No number is for sale in {where}', httpStatus: 409, retryable: false },
  NUMBER_NOT_OWNED: { message: 'This daemon does not own the number {number}', httpStatus: 404, retryable: false },
  CARRIER_CLOSED: { message: 'The connection to the carrier {carrier} is closed', httpStatus: 503, retryable: true },
  CARRIER_UNREACHABLE: { message: '{carrier} cannot be reached: {reason}', httpStatus: 503, retryable: true },
  CARRIER_SILENT: { message: '{carrier} did not answer: {reason}', httpStatus: 504, retryable: true },
  CARRIER_REFUSED: { message: '{carrier} refused the request: {reason}', httpStatus: 502, retryable: false },
  CARRIER_MESSAGE_BAD: {
    message: '{carrier} sent an invalid message: {reason}',
    httpStatus: 502,
    retryable: false,
  },
  KEYS_UNSUPPORTED: { message: '{carrier} cannot send the keys {keys}', httpStatus: 422, retryable: false },
  DO_NOT_CALL: { message: '{number} is on the do-not-call list', httpStatus: 409, retryable: false },
  CALL_REFUSED: { message: 'The call was refused: {reason}', httpStatus: 409, retryable: false },
  NUMBER_INACTIVE: { message: '{number} is inactive', httpStatus: 409, retryable: false },
  CALLS_STOPPED: { message: 'Outbound calls are stopped: {reason}', httpStatus: 409, retryable: true },
  CALL_FORBIDDEN: { message: '{number} must not be called: {reason}', httpStatus: 403, retryable: false },
  CALL_NOT_ALLOWED: {
    message: 'The setting calls.allowedPrefixes does not allow {number}. Allowed: {allowed}',
    httpStatus: 403,
    retryable: false,
  },
  LIMIT_CONCURRENT_CALLS: {
    message: 'The limit of {limit} concurrent calls is reached; try again after one has ended',
    httpStatus: 429,
    retryable: true,
  },
  LIMIT_CALLS_PER_MINUTE: {
    message: 'The limit of {limit} calls per minute is reached; try again in {retryAfterS} s',
    httpStatus: 429,
    retryable: true,
  },
  LIMIT_DESTINATION_PER_MINUTE: {
    message: 'The limit of {limit} calls per minute to one number is reached; try again in {retryAfterS} s',
    httpStatus: 429,
    retryable: true,
  },
  LIMIT_DESTINATION_PER_DAY: {
    message: 'The limit of {limit} calls to one number within 24 hours is reached; try again in {retryAfterS} s',
    httpStatus: 429,
    retryable: true,
  },
  LIMIT_MINUTES_PER_DAY: {
    message:
      'The limit of {limit} call minutes within 24 hours leaves too little time for this call; try again in {retryAfterS} s',
    httpStatus: 429,
    retryable: true,
  },
  REGISTRATIONS_FULL: {
    message: 'The limit of {limit} registered calls without a client is reached; try again later',
    httpStatus: 429,
    retryable: true,
  },
  STREAMS_FULL: {
    message: 'The limit of {limit} event streams is reached; close one first',
    httpStatus: 429,
    retryable: true,
  },
  IDEMPOTENCY_KEY_REUSED: {
    message: 'This Idempotency-Key was used for another request; use a new one',
    httpStatus: 409,
    retryable: false,
  },
  CALL_GOES_ON: {
    message: 'The call of the session "{id}" has not ended; delete it after its end',
    httpStatus: 409,
    retryable: true,
  },
  CALL_AGENT_LATE: { message: 'The agent was not ready within {seconds} s', httpStatus: 503, retryable: true },
  // sound device
  SOUND_DEVICE_FAILED: { message: '{command} failed: {reason}', httpStatus: 500, retryable: true },
  // talk socket
  TALK_CLIENT_TOO_SLOW: {
    message: 'The client reads too slowly: {bytes} bytes are waiting for it',
    httpStatus: 400,
    retryable: true,
  },
  TALK_TOO_MANY_BAD_MESSAGES: {
    message: 'The client has sent too many invalid messages',
    httpStatus: 400,
    retryable: false,
  },
  TALK_CLIENT_GONE: { message: 'The client has sent nothing for {silentMs} ms', httpStatus: 408, retryable: true },
  // SIP
  SIP_NO_TRUNK: {
    message: 'No SIP trunk is configured; set sip.servers or sip.sources',
    httpStatus: 409,
    retryable: false,
  },
  SIP_NOT_REGISTERED: {
    message: 'The SIP registrar refused the registration: {reason}',
    httpStatus: 503,
    retryable: true,
  },
  SIP_FLOOD: {
    message:
      '{count} SIP calls were refused within {seconds} s, {most} of them from {address}: too many at once, or callers that did not acknowledge the answers',
    httpStatus: 503,
    retryable: true,
  },
  SIP_CANNOT_LISTEN: { message: 'SIP cannot listen on {where}: {reason}', httpStatus: 500, retryable: false },
  // WebRTC
  OFFER_INVALID: { message: 'The offer cannot be answered: {reason}', httpStatus: 422, retryable: false },
  LINE_LOST: { message: 'The line is lost: {reason}', httpStatus: 408, retryable: true },
  // calls over RTP
  SDP_INVALID: { message: 'The session description cannot be read: {reason}', httpStatus: 422, retryable: false },
  MEDIA_UNSUPPORTED: {
    message: 'The session description offers no usable media: {reason}',
    httpStatus: 422,
    retryable: false,
  },
  RTP_PORTS_FULL: { message: 'No port is free for RTP in {range}', httpStatus: 503, retryable: true },
  // daemon
  DAEMON_CANNOT_LISTEN: { message: 'Cannot listen on {where}: {reason}', httpStatus: 500, retryable: false },
  DAEMON_DRAINING: {
    message: 'This daemon is shutting down and takes no new calls',
    httpStatus: 503,
    retryable: true,
  },
  NODE_UNREACHABLE: {
    message: 'The node that has the {what} cannot be reached: {reason}',
    httpStatus: 503,
    retryable: true,
  },
  NODE_DISOWNED: {
    message: 'Other nodes took this one for dead; it goes on in a moment, or ask another one',
    httpStatus: 503,
    retryable: true,
  },
  NODE_REFUSED: { message: 'The request of another node is refused: {reason}', httpStatus: 403, retryable: false },
  FILE_STORE_FAILED: { message: 'The file store {store} failed: {reason}', httpStatus: 503, retryable: true },
  FILE_STORE_REFUSED: {
    message: 'The file store {store} refused the request: {reason}',
    httpStatus: 502,
    retryable: false,
  },
  DATA_FOLDER_IN_USE: {
    message: 'Another daemon is using the data folder {path}; stop it, or set PARLEY_DATA_DIR to another folder',
    httpStatus: 409,
    retryable: false,
  },
  PAGE_NOT_BUILT: {
    message: 'The page is not built; run npm run build: {reason}',
    httpStatus: 500,
    retryable: false,
  },
  REQUEST_INVALID: { message: 'The request cannot be read: {reason}', httpStatus: 422, retryable: false },
  BODY_TOO_LARGE: { message: 'The body is larger than {limit} bytes', httpStatus: 413, retryable: false },
  BODY_ALREADY_READ: {
    message:
      'The application has read the body of {method} {path}: let it pass requests to parley before it parses bodies, ' +
      'see docs/embedding.md',
    httpStatus: 500,
    retryable: false,
  },
  UPGRADE_NOT_PASSED: {
    message:
      'The WebSocket request to {path} has come as a plain request: pass the events "upgrade" of the server to ' +
      '`daemon.upgrade`, see docs/embedding.md',
    httpStatus: 426,
    retryable: false,
  },
  ROUTE_UNKNOWN: { message: 'No endpoint at {method} {path}', httpStatus: 404, retryable: false },
  METHOD_NOT_ALLOWED: {
    message: '{method} is not allowed here; allowed: {allowed}',
    httpStatus: 405,
    retryable: false,
  },
  INTERNAL: { message: 'An internal error occurred; the log of parley has details', httpStatus: 500, retryable: true },
  AUTH_REQUIRED: { message: 'The key is missing or wrong', httpStatus: 401, retryable: false },
  AUTH_FORBIDDEN: { message: 'The key does not allow this: {reason}', httpStatus: 403, retryable: false },
  AUTH_SCOPE: { message: 'The key lacks the scope "{scope}"', httpStatus: 403, retryable: false },
  MCP_AUTHORIZATION: {
    message: 'parley is not authorized at the MCP server "{server}": {reason}',
    httpStatus: 502,
    retryable: true,
  },
  LINK_INVALID: { message: 'The link is not valid: {reason}', httpStatus: 403, retryable: false },
  KEY_LAST: {
    message: 'The last private key that manages keys cannot be revoked; create another one first',
    httpStatus: 409,
    retryable: false,
  },
  KEY_OF_ENVIRONMENT: {
    message: 'The environment variable {variable} sets this key; change it there and restart',
    httpStatus: 409,
    retryable: false,
  },
  AGENT_AMBIGUOUS: {
    message: '{count} agents are called "{name}": name one by its id: {ids}',
    httpStatus: 422,
    retryable: false,
  },
  AGENT_CHANGED: {
    message: 'Somebody has changed the agent {agent}: it has version {version} now, not {expected}',
    httpStatus: 409,
    retryable: false,
  },
  AGENT_DRAFT_OPEN: {
    message: 'The agent "{agent}" has the draft {version}; publish or discard it first',
    httpStatus: 409,
    retryable: false,
  },
  AGENT_NOT_PUBLISHED: { message: 'Nothing is published: {reason}', httpStatus: 409, retryable: false },
  PUBLICATION_OPEN: {
    message: 'The agent "{agent}" has a publication that is {status}; wait for it, or cancel it',
    httpStatus: 409,
    retryable: true,
  },
  AGENT_IN_USE: {
    message: 'The agent "{agent}" answers {phone}; assign another agent to the number first',
    httpStatus: 409,
    retryable: false,
  },
  NOT_FOUND: { message: 'There is no {what} "{id}"', httpStatus: 404, retryable: false },
  VOICE_IN_USE: {
    message: 'The agent "{agent}" uses the voice "{voice}"; give it another voice first',
    httpStatus: 409,
    retryable: false,
  },
  RATE_LIMITED: { message: 'Too many requests; try again in {seconds} s', httpStatus: 429, retryable: true },
  SESSIONS_FULL: { message: 'All {limit} sessions are in use', httpStatus: 429, retryable: true },
  SOCKETS_FULL: {
    message: 'This address is at its limit of {limit} open sockets; close one first',
    httpStatus: 429,
    retryable: true,
  },
  // campaigns
  CAMPAIGN_FINISHED: {
    message: 'The campaign "{campaign}" is finished and cannot be changed',
    httpStatus: 409,
    retryable: false,
  },
  CAMPAIGN_NOT_READY: {
    message: 'The campaign "{campaign}" cannot start: {reason}',
    httpStatus: 409,
    retryable: false,
  },
  CAMPAIGN_RUNNING: {
    message: 'The campaign "{campaign}" is running; stop it and wait for its calls to end',
    httpStatus: 409,
    retryable: true,
  },
  CAMPAIGN_TOO_MANY_RECORDS: {
    message: 'The request has more than {limit} records; send the rest in further requests',
    httpStatus: 413,
    retryable: false,
  },
  RECORD_BEING_CALLED: {
    message: 'A call to {number} is in progress; try again after it',
    httpStatus: 409,
    retryable: true,
  },
  // test suites
  EVAL_RUN_FAILED: { message: 'The run failed: {reason}', httpStatus: 500, retryable: true },
  EVAL_RUN_GOES_ON: {
    message: 'The run "{id}" has not ended; cancel it first',
    httpStatus: 409,
    retryable: true,
  },
  EVAL_RESULT_MISSING: { message: 'The run "{id}" has no result: it is {status}', httpStatus: 409, retryable: true },
  EVAL_QUEUE_FULL: {
    message: 'The limit of {limit} waiting runs is reached; try again after one has ended',
    httpStatus: 429,
    retryable: true,
  },
  // session
  AGENT_DISABLED: { message: 'This agent is disabled and takes no calls', httpStatus: 409, retryable: false },
  SESSION_CLOSED: { message: 'The session has ended', httpStatus: 409, retryable: false },
  LISTENING_REFUSED: {
    message: 'This call cannot be listened to: {reason}',
    httpStatus: 403,
    retryable: false,
  },
  PARTICIPANT_UNREACHED: {
    message: 'The participant was not reached: {reason}',
    httpStatus: 502,
    retryable: true,
  },
  COMMAND_REFUSED: {
    message: 'The session refuses the command {command}: {reason}',
    httpStatus: 409,
    retryable: false,
  },
  MEDIA_THREAD_LOST: {
    message: 'The media thread of the session has ended: {reason}',
    httpStatus: 503,
    retryable: true,
  },
  MEDIA_THREAD_SILENT: {
    message: 'A thread did not answer {method} within {timeoutMs} ms',
    httpStatus: 503,
    retryable: true,
  },
  // testing
  FIXTURES_INVALID: { message: '{path} cannot be measured: {reason}', httpStatus: 422, retryable: false },
  LABELS_INVALID: { message: 'The label file {file} cannot be read: {reason}', httpStatus: 422, retryable: false },
  LOG_INVALID: { message: 'The event log cannot be read: {reason}', httpStatus: 422, retryable: false },
  LOG_VERSION_UNSUPPORTED: {
    message: 'The event log has version {version}; this parley reads version {supported}',
    httpStatus: 422,
    retryable: false,
  },
  LEFT_RUNNING: { message: 'Still running: {resources}', httpStatus: 500, retryable: false },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof CATALOGUE;

export type ErrorDetails = Readonly<Record<string, string | number | boolean>>;

/** An error of the catalogue. */
export class ParleyError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}, options?: { cause?: unknown }) {
    super(fill(CATALOGUE[code].message, details), options);
    this.name = 'ParleyError';
    this.code = code;
    this.details = details;
  }

  get httpStatus(): number {
    return CATALOGUE[this.code].httpStatus;
  }

  get retryable(): boolean {
    return CATALOGUE[this.code].retryable;
  }
}

/** The catalogue for documentation and tests. */
export function errorCatalogue(): Readonly<Record<ErrorCode, CatalogueEntry>> {
  return CATALOGUE;
}

/** A thrown value as an Error. */
export function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** The message of a thrown value. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A failure in an event or a report. */
export interface Failure {
  reason: string;
  /** Stack of an error outside the catalogue, such as a bug in a provider. */
  cause?: string;
}

/** A thrown value, for events and reports. */
export function failureOf(error: unknown): Failure {
  const unexpected = error instanceof ParleyError ? error.cause : error;
  const failure: Failure = { reason: reasonOf(error) };
  if (unexpected instanceof Error && !(unexpected instanceof ParleyError) && unexpected.stack !== undefined) {
    failure.cause = unexpected.stack;
  }
  return failure;
}

function fill(template: string, details: ErrorDetails): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => String(details[name] ?? whole));
}
