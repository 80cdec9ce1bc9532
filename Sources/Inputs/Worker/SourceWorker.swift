import Basics
import CSandbox
import Codecs
import Glibc
import Threads

/// The process that demuxes and decodes one input. The server starts it, and hands it what it needs: a file or sockets
/// that are open already. Then the process gives up all rights, and only then reads the first byte of the source.
///
/// It has the server's two channels as standard streams, one for each of its two threads: one reads packets, one
/// decodes them. It ends when a channel is closed.
package enum SourceWorker {
    /// As the thread that plays an input: decoding gives way to the pool's work.
    private static let niceness: Int32 = 6
    /// Private memory: the program and its threads, and the pictures that a decoder keeps (HEVC: 17) in 8 bit and in a
    /// wider format, with as many again.
    private static let memory: UInt64 = 256 << 20
    private static let memoryPerPixel: UInt64 = 96

    package static func run() -> Never {
        var kind: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(0, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 else {
            let text = "tessera: the server starts this command by itself, to decode an input\n"
            _ = text.withCString { write(2, $0, strlen($0)) }
            exit(64)
        }
        let shared = WorkerPackets()
        let reading = Channel(0)
        // Started before the rights are given up: the process may start no threads then.
        DedicatedThread.start("decoder", niceness: niceness) {
            try? shared.waitForDecoder().value.run()
            // The other thread ends the process, after it has told the source.
            shared.interrupt.cancel()
        }
        try? WorkerReader(reading, shared).run()
        _exit(0)
    }

    /// Gives up all rights but those of the opening.
    static func enterSandbox(_ opening: SourceOpening, _ sockets: [Int32]) -> String? {
        let bytes = memory + memoryPerPixel * UInt64(opening.maxPixels)
        let code = sandbox_enter(opening.rights, sockets, Int32(sockets.count), bytes)
        return code == 0 ? nil : String(cString: strerror(code))
    }
}

/// The packets that wait for their decoding, and the decoders as soon as there are any.
final class WorkerPackets: Sendable {
    private struct State {
        var packets: [UInt32: DemuxedPacket] = [:]
        var nextID: UInt32 = 0
        var decoder: Confined<WorkerDecoder>?
    }

    private let state = Condition(State())
    /// Ends the reading. The server ends the process where it waits too long.
    let interrupt = ReadInterrupt { MonotonicClock.now() }

    func add(_ packet: DemuxedPacket) -> UInt32 {
        state.withLock { state in
            state.nextID &+= 1
            state.packets[state.nextID] = packet
            return state.nextID
        }
    }

    func take(_ id: UInt32) -> DemuxedPacket? { state.withLock { $0.packets.removeValue(forKey: id) } }

    /// Hands the decoders to their thread.
    func start(_ decoder: Confined<WorkerDecoder>) { state.withLock(waking: .all) { $0.decoder = decoder } }

    func waitForDecoder() -> Confined<WorkerDecoder> {
        while true { if let decoder = state.wait({ $0.decoder }) { return decoder } }
    }
}
