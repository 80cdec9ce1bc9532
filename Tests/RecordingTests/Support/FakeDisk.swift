import Basics
import Foundation
import Glibc

@testable import Recording

/// A file system of a given size that can be made to block or to fail; the writes that it accepts are really made.
final class FakeDisk: Sendable {
    private struct State {
        var free: Int
        var lowest: Int
        var failure: Int32?
        var isBlocked = false
    }
    private let size: Int
    private let state: Guarded<State>

    init(size: Int = 1 << 40, free: Int = 1 << 39) {
        self.size = size
        state = Guarded(State(free: free, lowest: free))
    }

    var free: Int { state.withLock { $0.free } }
    /// The smallest free space so far.
    var lowest: Int { state.withLock { $0.lowest } }

    /// Makes every write from here on fail with an `errno`; nil ends that.
    func fail(_ code: Int32?) { state.withLock { $0.failure = code } }
    /// Makes every write from here on wait until `unblock`.
    func block() { state.withLock { $0.isBlocked = true } }
    func unblock() { state.withLock { $0.isBlocked = false } }
    /// Uses space, as another program would.
    func take(_ bytes: Int) { state.withLock { $0.free -= bytes } }

    var disk: RecordingDisk {
        RecordingDisk { [self] descriptor, bytes in
            // A thread that waits for a disk; the test ends the wait.
            while state.withLock({ $0.isBlocked }) { usleep(1000) }
            let refusal: Int? = state.withLock { state in
                if let failure = state.failure { return -Int(failure) }
                if state.free < bytes.count { return -Int(ENOSPC) }
                state.free -= bytes.count
                state.lowest = min(state.lowest, state.free)
                return nil
            }
            return refusal ?? RecordingDisk.systemWrite(descriptor, bytes)
        } space: { [self] _ in
            DiskSpace(free: free, size: size)
        }
    }
}
