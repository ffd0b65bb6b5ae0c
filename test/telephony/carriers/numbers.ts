/** The number of ours, and people on the far side who behave as their names say. */
export const OWN = '+12025550199';
export const NUMBERS = {
  person: '+12025550101',
  leaver: '+12025550102',
  busy: '+12025550103',
  absent: '+12025550104',
  rejecting: '+12025550105',
  nobody: '+12025550111',
} as const;
