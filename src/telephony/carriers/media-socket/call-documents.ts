import type { CallRefusal } from '../carrier.js';

/** Instructions to a carrier for a call, each a whole document in the carrier's format. */
export interface CallDocuments {
  /** The call's sound goes over the media socket, until that is closed; then we are asked what is next. */
  connecting(): string;
  /** The far end is connected to somebody else, what comes of which is told under the attempt's name. */
  dialling(target: string, attempt: string): string;
  /** The far end goes into a room, in which it meets whoever else is sent there. */
  meeting(room: string): string;
  readonly hangUp: string;
  /** For a call that comes in and is not taken. */
  reject(refusal: CallRefusal): string;
}
