import CSandbox
import Glibc
import Testing

#if arch(x86_64)

    /// The numbers of x86-64 (asm/unistd_64.h), which Swift does not import. The filter of arm64 is written with the same
    /// names.
    private enum Call {
        static let accept4 = 288
        static let bind = 49
        static let bpf = 321
        static let brk = 12
        static let chdir = 80
        static let clone = 56
        static let connect = 42
        static let creat = 85
        static let execve = 59
        static let execveat = 322
        static let exit_group = 231
        static let fchmod = 91
        static let fcntl = 72
        static let fork = 57
        static let ftruncate = 77
        static let futex = 202
        static let getdents64 = 217
        static let io_uring_setup = 425
        static let keyctl = 250
        static let kill = 62
        static let listen = 50
        static let lseek = 8
        static let memfd_create = 319
        static let mkdirat = 258
        static let mmap = 9
        static let mount = 165
        static let mprotect = 10
        static let newfstatat = 262
        static let open = 2
        static let openat = 257
        static let openat2 = 437
        static let pidfd_getfd = 438
        static let ppoll = 271
        static let prctl = 157
        static let prlimit64 = 302
        static let process_vm_writev = 311
        static let ptrace = 101
        static let read = 0
        static let recvfrom = 45
        static let renameat2 = 316
        static let rt_sigaction = 13
        static let seccomp = 317
        static let sendmmsg = 307
        static let sendmsg = 46
        static let sendto = 44
        static let setns = 308
        static let setrlimit = 160
        static let setsockopt = 54
        static let setuid = 105
        static let shmat = 30
        static let socket = 41
        static let socketpair = 53
        static let stat = 4
        static let statx = 332
        static let tgkill = 234
        static let tkill = 200
        static let unlinkat = 263
        static let unshare = 272
        static let userfaultfd = 323
        static let vfork = 58
        static let write = 1
    }

    /// The filter, run by a small interpreter of its instructions (linux/filter.h), so that no test gives up its own rights.
    @Suite struct SandboxFilterTests {
        private enum Verdict: Equatable {
            case allowed, asked, refused(Int32), killed
        }

        private static let threads = Int32(SANDBOX_THREADS)
        private static let anyPeer = Int32(SANDBOX_ANY_PEER)
        private static let architecture: UInt32 = 0xC000_003E

        private func verdict(
            _ number: Int, _ arguments: [Int: UInt64] = [:], rights: Int32 = 0, architecture: UInt32 = architecture
        ) -> Verdict? {
            var steps = [sandbox_step](repeating: sandbox_step(), count: Int(SANDBOX_STEPS))
            let count = Int(sandbox_filter(&steps, rights, 4711))
            // struct seccomp_data: the number, the architecture, the place, six arguments.
            var data = [UInt32](repeating: 0, count: 16)
            (data[0], data[1]) = (UInt32(truncatingIfNeeded: number), architecture)
            for (index, value) in arguments {
                data[4 + 2 * index] = UInt32(truncatingIfNeeded: value)
                data[5 + 2 * index] = UInt32(truncatingIfNeeded: value >> 32)
            }
            var (place, accumulator): (Int, UInt32) = (0, 0)
            while place < count {
                let step = steps[place]
                place += 1
                switch step.code {
                case 0x20: accumulator = data[Int(step.value) / 4]
                case 0x54: accumulator &= step.value
                case 0x15: place += Int(accumulator == step.value ? step.if_true : step.if_false)
                case 0x45: place += Int(accumulator & step.value != 0 ? step.if_true : step.if_false)
                case 0x06:
                    switch step.value & 0xFFFF_0000 {
                    case 0x7FFF_0000: return .allowed
                    case 0x0003_0000: return .asked
                    case 0x0005_0000: return .refused(Int32(step.value & 0xFFFF))
                    case 0x8000_0000: return .killed
                    default: return nil
                    }
                default: return nil
                }
            }
            return nil
        }

        @Test func `files, programs, processes and other rights are refused, whatever the arguments`() {
            var numbers = [
                Call.openat, Call.openat2, Call.execve, Call.execveat, Call.clone, Call.ptrace, Call.kill, Call.tkill,
                Call.rt_sigaction, Call.unlinkat, Call.mkdirat, Call.renameat2, Call.newfstatat, Call.statx,
                Call.getdents64,
                Call.chdir, Call.mount, Call.setuid, Call.prlimit64, Call.setrlimit, Call.socketpair, Call.listen,
                Call.accept4,
                Call.sendmmsg, Call.memfd_create, Call.userfaultfd, Call.bpf, Call.io_uring_setup,
                Call.process_vm_writev,
                Call.pidfd_getfd, Call.shmat, Call.keyctl, Call.unshare, Call.setns, Call.seccomp, Call.ftruncate,
                Call.fchmod,
            ]
            // Also the numbers of the ABI x32, which some kernels have.
            numbers += [Call.open, Call.fork, Call.vfork, Call.stat, Call.creat, 0x4000_0000]
            for number in numbers {
                for values: UInt64 in [0, 1, .max] {
                    let arguments = Dictionary(uniqueKeysWithValues: (0..<6).map { ($0, values) })
                    #expect(verdict(number, arguments) == .refused(EPERM), "\(number) \(values)")
                }
            }
            #expect(verdict(Call.read, architecture: 0x4000_0003) == .killed)
        }

        @Test func `sockets are those that were given, and lead where they are connected to`() {
            #expect(verdict(Call.socket, [0: 2, 1: 1]) == .asked)
            // Nothing happens, and no error is told.
            #expect(verdict(Call.connect) == .refused(0) && verdict(Call.bind) == .refused(0))
            #expect(verdict(Call.sendto, [4: 0]) == .allowed)
            #expect(verdict(Call.sendto, [4: 0x7F00_1234_0000]) == .refused(EPERM))
            #expect(verdict(Call.sendto, [4: 1 << 40]) == .refused(EPERM))
            #expect(verdict(Call.sendmsg) == .asked)
            #expect(verdict(Call.sendmsg, rights: Self.anyPeer) == .allowed)
            #expect(verdict(Call.sendto, [4: 1], rights: Self.anyPeer) == .allowed)
            #expect(verdict(Call.setsockopt, [1: 1, 2: 20]) == .allowed)
            #expect(verdict(Call.setsockopt, [1: 1, 2: 26]) == .refused(0))
            #expect(verdict(Call.setsockopt, [1: 6, 2: 20]) == .refused(0))
        }

        @Test func `memory is private and never code`() {
            #expect(verdict(Call.mmap, [2: 3, 3: 0x22]) == .allowed)
            for (protection, flags): (UInt64, UInt64) in [(7, 0x22), (4, 0x22), (3, 0x21), (3, 0x23), (3, 0x20)] {
                #expect(verdict(Call.mmap, [2: protection, 3: flags]) == .refused(EPERM), "\(protection) \(flags)")
            }
            #expect(verdict(Call.mprotect, [2: 3]) == .allowed && verdict(Call.mprotect, [2: 5]) == .refused(EPERM))
        }

        @Test func `threads start where they may, processes never; signals go to the process itself`() {
            let thread: UInt64 = 0x3D_0F00
            #expect(verdict(Call.clone, [0: thread]) == .refused(EPERM))
            #expect(verdict(Call.clone, [0: thread], rights: Self.threads) == .allowed)
            for flags: UInt64 in [17, 0x4111, 0x0001_0100, 0x0001_0000] {
                #expect(verdict(Call.clone, [0: flags], rights: Self.threads) == .refused(EPERM), "\(flags)")
            }
            #expect(verdict(435) == .refused(ENOSYS), "clone3")
            #expect(verdict(Call.tgkill, [0: 4711]) == .allowed && verdict(Call.tgkill, [0: 1]) == .refused(EPERM))
            #expect(verdict(Call.prctl, [0: 15]) == .allowed && verdict(Call.prctl, [0: 4]) == .refused(EPERM))
            #expect(verdict(Call.fcntl, [1: 4]) == .allowed && verdict(Call.fcntl, [1: 8]) == .refused(EPERM))
        }

        /// Also what the threads of libdispatch wait by (timerfd_create, timerfd_settime, rt_sigsuspend).
        @Test func `what decoding needs is allowed`() {
            for number in [
                283, 286, 130,
                Call.read, Call.write, Call.futex, Call.brk, Call.recvfrom, Call.lseek, Call.exit_group, Call.ppoll,
            ] {
                #expect(verdict(number) == .allowed, "\(number)")
            }
        }
    }
#endif
