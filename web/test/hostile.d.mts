export const OUTSIDE: string;
export const HOSTILE: string;
