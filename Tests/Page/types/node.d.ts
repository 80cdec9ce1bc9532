// The parts of node that the page's tests use.

declare module 'node:test' {
  export function test(name: string, body: () => unknown): void;
}
declare module 'node:assert/strict' {
  const assert: {
    ok(value: unknown, message?: string): void;
    equal(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
  };
  export default assert;
}
declare module 'node:module' {
  export function register(specifier: string): void;
}
declare module 'node:child_process' {
  export function spawn(program: string, parameters: string[], options: { stdio: string[] }): {
    stdout: { on(event: 'data', take: (text: string) => void): void };
    on(event: 'close', end: (code: number | null) => void): void;
  };
}
declare module 'node:fs/promises' {
  export function readFile(file: URL, encoding: 'utf8'): Promise<string>;
}
declare const process: { execPath: string };
