import Basics
import Foundation
import Glibc
import Recording

@testable import Conference

/// A recordings' disk that a test can make hang or almost full.
final class TestDisk: Sendable {
    private let isBlocked = Guarded(false)
    private let space = Guarded(DiskSpace(free: 100 << 30, size: 200 << 30))

    func block() { isBlocked.withLock { $0 = true } }
    func unblock() { isBlocked.withLock { $0 = false } }
    func setFree(_ bytes: Int) { space.withLock { $0.free = bytes } }

    var disk: RecordingDisk {
        RecordingDisk { [isBlocked] descriptor, bytes in
            while isBlocked.withLock({ $0 }) { usleep(1000) }
            return RecordingDisk.systemWrite(descriptor, bytes)
        } space: { [space] _ in
            space.withLock { $0 }
        }
    }
}
