import Glibc
import TestSupport
import Testing

@testable import Basics

@Suite struct FileLockTests {
    private func opened(_ path: String) -> Int32 { open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }

    @Test func `a lock that is held keeps others away, and one that is released does not`() {
        let directory = ScratchDirectory()
        let first = opened(directory.file("lock"))
        #expect(FileLock.take(first))
        let second = opened(directory.file("lock"))
        #expect(!FileLock.take(second))
        FileLock.release(first)
        #expect(FileLock.take(second))
        FileLock.release(second)
    }

    /// As a child has them between `clone` and `exec`.
    @Test func `a copy of the descriptor does not hold what is released`() {
        let directory = ScratchDirectory()
        let first = opened(directory.file("lock"))
        let copy = dup(first)
        defer { close(copy) }
        #expect(FileLock.take(first))
        FileLock.release(first)
        let second = opened(directory.file("lock"))
        #expect(FileLock.take(second))
        FileLock.release(second)
    }
}
