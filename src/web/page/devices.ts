import { listDevices } from '@parley-voice/web';

/**
 * The lists of microphones and loudspeakers, updated when devices change. A list is hidden if there is no choice: one
 * device, or none named by the browser yet, as before microphone access.
 */
export class Devices {
  readonly #lists: readonly { kind: DeviceKind; select: HTMLSelectElement }[];

  /** @param onChosen called after `device-choice` has the selection */
  constructor(lists: readonly { kind: DeviceKind; select: HTMLSelectElement }[], onChosen: (kind: DeviceKind) => void) {
    this.#lists = lists;
    for (const { kind, select } of this.#lists) {
      select.addEventListener('change', () => {
        chooseDevice(kind, select.value);
        onChosen(kind);
      });
    }
    // Undefined on pages over plain http.
    const media = navigator.mediaDevices as MediaDevices | undefined;
    media?.addEventListener('devicechange', () => void this.refresh());
    void this.refresh();
  }

  /** Call it after microphone access, for which there is no event. */
  async refresh(): Promise<void> {
    const { microphones, speakers } = await listDevices();
    for (const { kind, select } of this.#lists) {
      const real = kind === 'audioinput' ? microphones : speakers;
      const options = real.map(({ label, id }) => new Option(label, id));
      select.replaceChildren(new Option('System default', ''), ...options);
      const chosen = chosenDevice(kind);
      select.value = real.some(({ id }) => id === chosen) ? chosen : '';
      const { parentElement: label } = select;
      if (label !== null) label.hidden = real.length < 2;
    }
  }
}

export type DeviceKind = 'audioinput' | 'audiooutput';

/** The id of the device that the visitor selected here; '' = the system's. */
export function chosenDevice(kind: DeviceKind): string {
  try {
    return localStorage.getItem(`parley.${kind}`) ?? '';
  } catch {
    return ''; // storage is blocked
  }
}

/** Stores it for later visits. */
function chooseDevice(kind: DeviceKind, id: string): void {
  try {
    if (id === '') localStorage.removeItem(`parley.${kind}`);
    else localStorage.setItem(`parley.${kind}`, id);
  } catch {
    // Storage is blocked: the system's device stays selected.
  }
}
