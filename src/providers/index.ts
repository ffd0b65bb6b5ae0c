/** @parley-voice/parley/providers: building blocks for adapters and custom providers. */
export { Deadlines } from './deadlines.js';
export { failed, refused, statusError, withoutSecrets } from './wire/vendor-error.js';
export { Mailbox } from './tts/flite/mailbox.js';
export { speakRemotely, type RemoteVoice, type SpeechPiece } from './tts/vendors/remote-speech.js';
export { Segments, type Piece } from './stt/vendors/segments.js';
export type { TimedText } from './tts/vendors/word-aligner.js';
