import { chosenDevice, chooseDevice, type DeviceKind } from './device-choice.js';

/**
 * The lists of microphones and loudspeakers, as devices come and go. A list is hidden where there is nothing to choose:
 * one device only, or none that the browser names yet, as before the microphone was allowed.
 */
export class Devices {
  readonly #lists: readonly { kind: DeviceKind; select: HTMLSelectElement }[];
  readonly #media = navigator.mediaDevices as MediaDevices | undefined; // none on pages that came over plain http

  /** @param onChosen what was chosen is in `device-choice` already */
  constructor(lists: readonly { kind: DeviceKind; select: HTMLSelectElement }[], onChosen: (kind: DeviceKind) => void) {
    // Firefox cannot send an AudioContext to a loudspeaker.
    const canChoose = (kind: DeviceKind): boolean => kind === 'audioinput' || 'setSinkId' in AudioContext.prototype;
    this.#lists = lists.filter(({ kind }) => canChoose(kind));
    for (const { kind, select } of this.#lists) {
      select.addEventListener('change', () => {
        chooseDevice(kind, select.value);
        onChosen(kind);
      });
    }
    this.#media?.addEventListener('devicechange', () => void this.refresh());
    void this.refresh();
  }

  /** To be called when the microphone was allowed: no event tells that. */
  async refresh(): Promise<void> {
    const devices = (await this.#media?.enumerateDevices().catch(() => [])) ?? [];
    for (const { kind, select } of this.#lists) {
      // Chromium lists what the system has chosen a second time, under these names.
      const real = devices.filter(
        ({ kind: itsKind, deviceId, label }) =>
          itsKind === kind && label !== '' && deviceId !== 'default' && deviceId !== 'communications',
      );
      const options = real.map(({ label, deviceId }) => new Option(label, deviceId));
      select.replaceChildren(new Option('System default', ''), ...options);
      const chosen = chosenDevice(kind);
      select.value = real.some(({ deviceId }) => deviceId === chosen) ? chosen : '';
      const { parentElement: label } = select;
      if (label !== null) label.hidden = real.length < 2;
    }
  }
}
