import Basics
import CFFmpeg
import Synchronization
import Threads

/// Ends a blocking call of libavformat: at the deadline that its thread sets before each call, or when another thread
/// ends the connection.
package final class MediaInterrupt: Sendable {
    /// In nanoseconds of the monotonic clock.
    private let deadline = Atomic<Int64>(.max)
    /// When the connection has to be gone; nothing may take longer.
    private let end = Atomic<Int64>(.max)

    package init() {}

    /// Permits the next call to take this long.
    package func permit(_ time: Duration) {
        deadline.store((MonotonicClock.now() + time).nanoseconds, ordering: .relaxed)
    }

    /// Ends the connection: all that it does from now on together may take this long.
    package func end(within time: Duration) {
        end.store((MonotonicClock.now() + time).nanoseconds, ordering: .relaxed)
    }

    /// Whether the running call must end.
    package var isDue: Bool {
        MonotonicClock.now().nanoseconds >= min(deadline.load(ordering: .relaxed), end.load(ordering: .relaxed))
    }

    /// libavformat asks it about every 100 ms. The interrupt has to outlive what gets the callback.
    var callback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { opaque in
                guard let opaque else { return 0 }
                return Unmanaged<MediaInterrupt>.fromOpaque(opaque).takeUnretainedValue().isDue ? 1 : 0
            }, opaque: Unmanaged.passUnretained(self).toOpaque())
    }
}
