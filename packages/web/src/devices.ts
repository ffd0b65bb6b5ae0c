/** A microphone or a loudspeaker. */
export interface CallDevice {
  id: string;
  label: string;
}

export interface CallDevices {
  microphones: readonly CallDevice[];
  /** Empty where the browser cannot choose one, such as Firefox over the socket. */
  speakers: readonly CallDevice[];
}

/** Undefined on pages that are neither https nor local. */
export function mediaDevices(): MediaDevices | undefined {
  return navigator.mediaDevices;
}

/**
 * The devices that the browser names, without the system's defaults. Browsers name none before the user has allowed a
 * microphone. Never rejects.
 */
export async function listDevices(): Promise<CallDevices> {
  const all =
    (await mediaDevices()
      ?.enumerateDevices()
      .catch(() => [])) ?? [];
  const of = (kind: MediaDeviceKind): CallDevice[] =>
    all
      .filter((device) => device.kind === kind && device.label !== '' && !DEFAULTS.has(device.deviceId))
      .map(({ deviceId, label }) => ({ id: deviceId, label }));
  // Firefox cannot route an AudioContext to a loudspeaker. The DOMs that tests have in Node have no AudioContext.
  const canChoose = typeof AudioContext !== 'undefined' && 'setSinkId' in AudioContext.prototype;
  return { microphones: of('audioinput'), speakers: canChoose ? of('audiooutput') : [] };
}

/** Chromium lists the system's default again under these names. */
const DEFAULTS: ReadonlySet<string> = new Set(['default', 'communications']);
