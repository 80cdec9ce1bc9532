import Basics
import Foundation
import Glibc
import Logging
import TestSupport
import Testing
import Threads

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite("ServiceManager")
struct ServiceManagerTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private let scratch = ScratchDirectory(isMade: true)

    private func environment(_ socket: String, _ more: [String: String] = [:]) -> [String: String] {
        ["NOTIFY_SOCKET": socket].merging(more) { $1 }
    }

    /// The addresses of a listening manager: a file, and a name in the abstract namespace.
    private var addresses: [String] { [scratch.path + "/notify", "@tessera-test-\(UUID().uuidString)"] }

    @Test("a manager that listens on a file or an abstract socket is told that the server is ready") func ready() throws
    {
        for address in addresses {
            let listener = try FakeManager(address)
            let manager = ServiceManager(environment: environment(address), logger: logger)
            #expect(manager.watchdog == nil)
            manager.tellReady()
            #expect(listener.received() == ["READY=1"], "\(address)")
        }
    }

    @Test(
        "without a socket, and with one that cannot be used, nothing happens",
        arguments: [
            "", "/", "@", "relative/socket", "vsock:2:1234", "/tessera-no-such-folder/notify",
            "/" + String(repeating: "n", count: 107),
            "@" + String(repeating: "n", count: 4096),
        ])
    func none(_ address: String) async {
        let manager = ServiceManager(
            environment: address.isEmpty ? [:] : environment(address, ["WATCHDOG_USEC": "20000"]), logger: logger)
        manager.tellReady()
        #expect(address.hasPrefix("/tessera-no") || manager.watchdog == nil)
    }

    @Test("a manager that reads nothing does not make the server wait") func full() throws {
        let address = scratch.path + "/notify"
        let listener = try FakeManager(address)
        let manager = ServiceManager(environment: environment(address), logger: logger)
        for _ in 0..<10_000 { manager.tellReady() }
        #expect(listener.received().count < 10_000, "the queue of the socket was full")
    }

    @Test("the watchdog is for this process only, and its time is read strictly")
    func watchdog() throws {
        let address = scratch.path + "/notify"
        func limit(_ more: [String: String]) -> Duration? {
            ServiceManager(environment: environment(address, more), process: 7, logger: logger).watchdog
        }
        #expect(limit(["WATCHDOG_USEC": "3000000"]) == .seconds(3))
        #expect(limit(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7"]) == .seconds(3))
        #expect(limit(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"]) == nil)
        for text in ["", "0", "-1", "3s", "99999999999999999999"] { #expect(limit(["WATCHDOG_USEC": text]) == nil) }
    }

    @Test("it is told that the server is alive while the threads answer, and not while one hangs") func alive()
        async throws
    {
        let address = scratch.path + "/notify"
        let listener = try FakeManager(address)
        let manager = ServiceManager(environment: environment(address, ["WATCHDOG_USEC": "80000"]), logger: logger)
        let hangs = Guarded(false)
        let task = Task {
            await manager.tellAlive { pulse in
                let answer = pulse.expect()
                if !hangs.withLock({ $0 }) { answer() }
            }
        }
        var told: [String] = []
        while told.count < 3 {
            try await Task.sleep(for: .milliseconds(10))
            told += listener.received()
        }
        #expect(Set(told) == ["WATCHDOG=1"])
        hangs.withLock { $0 = true }
        // The question that was answered before counts once more.
        try await Task.sleep(for: .milliseconds(200))
        _ = listener.received()
        try await Task.sleep(for: .milliseconds(300))
        #expect(listener.received().isEmpty, "a thread hangs")
        task.cancel()
        await task.value
    }

    @Test("at the end it is told so, and how long to wait") func stopping() async throws {
        let address = scratch.path + "/notify"
        let listener = try FakeManager(address)
        let manager = ServiceManager(environment: environment(address), logger: logger)
        let task = Task { await manager.tellStopping(until: MonotonicClock.now() + .seconds(60)) }
        var told: [String] = []
        while told.isEmpty {
            try await Task.sleep(for: .milliseconds(5))
            told = listener.received()
        }
        #expect(told == ["STOPPING=1\nSTATUS=Draining\nEXTEND_TIMEOUT_USEC=15000000"])
        task.cancel()
        await task.value
    }
}

/// A service manager's socket.
private final class FakeManager {
    private let descriptor: CInt

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        try #require(result == 0, "errno \(errno)")
    }

    deinit { close(descriptor) }

    /// The datagrams that wait.
    func received() -> [String] {
        var all: [String] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { return all }
            all.append(String(decoding: buffer.prefix(count), as: UTF8.self))
        }
    }
}
