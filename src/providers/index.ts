/** @parley-voice/parley/providers: building blocks for adapters and custom providers. */
export { Deadlines } from './deadlines.js';
export { failed, refused, statusError, withoutSecrets } from './wire/vendor-error.js';
export { Mailbox } from './mailbox.js';
export { speakRemotely, type RemoteVoice, type SpeechPiece } from './tts/shared/remote-speech.js';
export { Segments, type Piece } from './stt/shared/segments.js';
export type { TimedText } from './tts/text/word-aligner.js';
