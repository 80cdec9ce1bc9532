import Basics
import FoundationEssentials
import Logging
import NIOCore
import NIOPosix
import Threads

/// What the service manager that started the server, such as systemd, is told (sd_notify(3)): that it listens, that it
/// is alive, that it ends and how long that may still take. Without `NOTIFY_SOCKET` nothing is told.
final class ServiceManager: Sendable {
    private let socket: NotificationSocket?
    /// The time after which it ends a server that does not say that it is alive; nil: it does not watch.
    let watchdog: Duration?
    private let logger: Logger
    /// Whether a failure was logged.
    private let hasFailed = Guarded(false)

    /// While the server ends, the service manager waits this long from each message for the next one.
    static let extensionTime = Duration.seconds(15)

    /// - Parameter process: `WATCHDOG_PID` must be this one, where it is set.
    init(
        environment: [String: String] = ProcessInfo.processInfo.environment,
        process: Int32 = ProcessInfo.processInfo.processIdentifier, logger: Logger
    ) {
        self.logger = logger
        let path = environment["NOTIFY_SOCKET"] ?? ""
        socket = NotificationSocket(path)
        if socket == nil, !path.isEmpty {
            logger.warning("NOTIFY_SOCKET is not a socket that can be used", metadata: ["value": "\(path)"])
        }
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
        let limit = environment["WATCHDOG_USEC"].flatMap(Int64.init) ?? 0
        // Beyond a day nobody watches; and the sum with a time stays in range.
        watchdog = isMeant && socket != nil && (1...86_400_000_000).contains(limit) ? .microseconds(limit) : nil
    }

    /// The server accepts connections.
    func tellReady() { send(["READY=1"]) }

    /// Says that the server is alive, every half of `watchdog`, until the task is cancelled.
    ///
    /// It runs on the cooperative pool and asks the HTTP connections' loops and whatever `ask` does, and is silent
    /// while one of these hangs.
    func tellAlive(_ ask: @Sendable (Pulse) -> Void) async {
        guard let watchdog else { return }
        var schedule = WatchdogSchedule(limit: watchdog, at: MonotonicClock.now())
        var pulse = Self.pulse(ask)
        while !Task.isCancelled {
            if schedule.tells(at: MonotonicClock.now(), isAlive: pulse.isComplete) {
                send(["WATCHDOG=1"])
                pulse = Self.pulse(ask)
            }
            try? await Task.sleep(for: schedule.step)
        }
    }

    /// Says that the server ends, and until `limit` or the end of the process again and again that it still works at
    /// that.
    func tellStopping(until limit: Instant) async {
        guard socket != nil else { return }
        let more = "EXTEND_TIMEOUT_USEC=\(Self.extensionTime.nanoseconds / 1000)"
        send(["STOPPING=1", "STATUS=Draining", more])
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.extensionTime / 3)
            guard MonotonicClock.now() < limit else { return }
            send([more])
        }
    }

    private static func pulse(_ ask: (Pulse) -> Void) -> Pulse {
        let pulse = Pulse()
        for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { loop.execute(pulse.expect()) }
        ask(pulse)
        return pulse
    }

    private func send(_ lines: [String]) {
        guard let code = socket?.send(lines), code != 0 else { return }
        let isFirst = hasFailed.withLock { hasFailed in
            defer { hasFailed = true }
            return !hasFailed
        }
        if isFirst {
            logger.warning(
                "The service manager cannot be told", metadata: ["error": "\(String(cString: strerror(code)))"])
        }
    }
}
