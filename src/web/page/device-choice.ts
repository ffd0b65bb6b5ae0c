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
export function chooseDevice(kind: DeviceKind, id: string): void {
  try {
    if (id === '') localStorage.removeItem(`parley.${kind}`);
    else localStorage.setItem(`parley.${kind}`, id);
  } catch {
    // Storage is blocked: the system's device stays selected.
  }
}
