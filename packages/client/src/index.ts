export { isParleyError, ParleyApiError, ParleyConnectionError, type ValidationFault } from './errors.js';
export type { NamedEvent, ParleyOptions, RequestOptions, StreamOptions } from './http.js';
export type { Pages } from './pages.js';
export {
  type CallMessage,
  ParleyWebhookError,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookOptions,
} from './webhooks.js';
export { messagesOf } from './messages.js';
export type { ErrorCode } from './generated/codes.js';
export { Parley } from './generated/resources.js';
export type * from './generated/resources.js';
export type * from './generated/schemas.js';
