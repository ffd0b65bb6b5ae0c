import type { Core } from '../core.js';

/** Leaves what follows out of the recording, or (`on`) records again. */
export function setRecording(core: Core, on: boolean): void {
  core.disarm('recording');
  if (core.state.recordingPaused !== on) return;
  core.emit({ type: 'recording.pause', on: !on });
  core.state.recordingPaused = !on;
}
