// What `tessera.d.ts` declares is what the module has.

import * as module from '../../Sources/Web/tessera.js';
import type * as Declared from '../../Sources/Web/module.js';

/// The two classes are for this server's own page.
type Public = Omit<typeof module, 'Call' | 'Sending'>;
type Missing = Exclude<keyof Public, keyof typeof Declared>;

const declared: typeof Declared = module as Omit<typeof module, 'REACTIONS'> & Pick<typeof Declared, 'REACTIONS'>;
const call: Declared.Call = /** the class that `join` resolves to */ null as unknown as InstanceType<typeof module.Call>;
const isComplete: [Missing] extends [never] ? true : Missing = true;
export { call, declared, isComplete };
