import Basics
import CSockets
import Glibc

/// One bound UDP socket for many peers: it reads and writes many datagrams per system call, and lets the kernel split
/// one write into packets of equal size (GSO). Confined to the loop's thread. Allocates nothing after `init`.
final class UDPSocket {
    /// Datagrams per system call.
    static let batch = 64
    /// Bytes that are received per datagram; no peer sends longer ones, which arrive truncated.
    static let datagramCapacity = 2048
    /// Linux takes at most 64 segments, and at most 65 535 bytes, in one write.
    static let maxSegments = 32

    let descriptor: Int32
    let address: SocketAddress
    private let family: Int32
    private let counters: LoopCounters

    private let payloads: UnsafeMutableRawPointer
    private let messages: UnsafeMutablePointer<net_message>
    private let vectors: UnsafeMutablePointer<iovec>
    private let names: UnsafeMutablePointer<sockaddr_storage>
    private let controls: UnsafeMutablePointer<UInt8>
    /// Whether the system supports UDP_SEGMENT.
    private let canSegment: Bool
    /// Destinations for which a segmented write failed: a device without checksum offload (EIO), a smaller path MTU
    /// (EINVAL). They get one datagram per message; other destinations are not affected.
    private var unsegmented: Set<SocketAddress> = []
    /// The most entries of `unsegmented`; beyond it the set is cleared, and all destinations are tried again.
    static let mostUnsegmented = 1024
    /// Segmented writes that the system accepted.
    private(set) var segmented = 0
    /// The system's count of dropped datagrams when it was last read; it wraps.
    private var unread: UInt32 = 0
    /// How many of `messages` were used since they were last prepared for receiving.
    private var used = batch

    /// - Parameter sharesPort: whether other sockets of this process bind the same address (SO_REUSEPORT), so that the
    ///   system distributes the senders among them.
    init(binding wanted: SocketAddress, sharesPort: Bool = false, counters: LoopCounters = LoopCounters())
        throws(NetworkError)
    {
        let what = "bind UDP \(wanted)"
        self.counters = counters
        family = wanted.family
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let fd = socket(family, type, 0)
        guard fd >= 0 else { throw NetworkError(what, code: errno) }
        let failure = UDPSocket.configure(fd, wanted, sharesPort)
        if failure != 0 {
            close(fd)
            throw NetworkError(what, code: failure)
        }
        descriptor = fd
        canSegment = net_can_segment(fd) != 0
        var bound = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &bound) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(fd, $0, &length) }
        }
        address = SocketAddress(&bound) ?? wanted
        payloads = .allocate(byteCount: UDPSocket.batch * UDPSocket.datagramCapacity, alignment: 16)
        messages = .allocate(capacity: UDPSocket.batch)
        vectors = .allocate(capacity: UDPSocket.batch)
        names = .allocate(capacity: UDPSocket.batch)
        controls = .allocate(capacity: UDPSocket.batch * Int(kNetControlSize))
        messages.initialize(repeating: net_message(), count: UDPSocket.batch)
        vectors.initialize(repeating: iovec(), count: UDPSocket.batch)
        names.initialize(repeating: sockaddr_storage(), count: UDPSocket.batch)
        controls.initialize(repeating: 0, count: UDPSocket.batch * Int(kNetControlSize))
    }

    deinit {
        close(descriptor)
        payloads.deallocate()
        messages.deallocate()
        vectors.deallocate()
        names.deallocate()
        controls.deallocate()
    }

    /// Returns 0 or the system's error number.
    private static func configure(_ fd: Int32, _ wanted: SocketAddress, _ sharesPort: Bool) -> Int32 {
        if sharesPort {
            var on: Int32 = 1
            if setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, socklen_t(MemoryLayout<Int32>.size)) != 0 { return errno }
        }
        // Keyframes of many peers arrive and are sent together. The system caps the value at net.core.rmem_max.
        var size: Int32 = 4 << 20
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        if wanted.family == AF_INET6 {
            // IPv4 has a socket of its own, so that each family reports its own addresses.
            var on: Int32 = 1
            setsockopt(fd, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        if net_receive_packet_info(fd, wanted.family) != 0 { return errno }
        var storage = sockaddr_storage()
        let length = wanted.write(to: &storage, family: wanted.family)
        let result = withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(fd, $0, length) }
        }
        return result == 0 ? 0 : errno
    }

    /// Passes the waiting datagrams, up to one batch, to `body`. Returns their number.
    func receive(_ body: (UnsafeMutableRawBufferPointer, Flow) -> Void) -> Int {
        let control = Int(kNetControlSize)
        for index in 0..<used {
            vectors[index] = iovec(
                iov_base: payloads + index * UDPSocket.datagramCapacity, iov_len: UDPSocket.datagramCapacity)
            messages[index].msg_hdr = msghdr(
                msg_name: names + index, msg_namelen: socklen_t(MemoryLayout<sockaddr_storage>.size),
                msg_iov: vectors + index,
                msg_iovlen: 1, msg_control: controls + index * control, msg_controllen: control, msg_flags: 0)
        }
        let count = Int(net_receive_batch(descriptor, messages, UInt32(UDPSocket.batch)))
        used = max(0, count)
        guard count > 0 else { return 0 }
        if count == UDPSocket.batch { countUnread() }
        for index in 0..<count {
            let length = Int(messages[index].msg_len)
            guard length > 0, let remote = SocketAddress(names + index) else { continue }
            // Linux delivers a datagram from port 0, but refuses to send to it.
            guard remote.port != 0 else {
                increment(counters.unanswerable)
                continue
            }
            var local = address
            withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { bytes in
                guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                let size = net_destination(&messages[index].msg_hdr, base)
                if let ip = IPAddress(networkBytes: UnsafeRawBufferPointer(rebasing: bytes[0..<Int(size)])) {
                    local.ip = ip.unmapped
                }
            }
            body(
                UnsafeMutableRawBufferPointer(start: payloads + index * UDPSocket.datagramCapacity, count: length),
                Flow(.udp, local: local, remote: remote))
        }
        return count
    }

    /// Counts the datagrams that the system dropped. It drops only while the socket's buffer is full, and a full buffer
    /// is more than a batch: so this is called after full batches only.
    private func countUnread() {
        // SO_MEMINFO gives nine values (linux/sock_diag.h); the last is SK_MEMINFO_DROPS.
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 9) { values in
            values.initialize(repeating: 0)
            var length = socklen_t(9 * MemoryLayout<UInt32>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_MEMINFO, values.baseAddress, &length) == 0,
                length == 9 * MemoryLayout<UInt32>.size
            else { return }
            increment(counters.unread, Int(values[8] &- unread))
            unread = values[8]
        }
    }

    /// Sends the datagrams of `queue` in order. Datagrams for which the system has no room are dropped and counted.
    func send(_ queue: SendQueue) {
        var next = 0
        while next < queue.count {
            var filled = 0
            let start = next
            while next < queue.count, filled < UDPSocket.batch {
                let run = run(in: queue, from: next)
                prepare(filled, queue: queue, entry: next, run: run)
                next += run
                filled += 1
            }
            used = max(used, filled)
            next = write(queue, from: start, messages: filled)
        }
    }

    private func run(in queue: SendQueue, from entry: Int) -> Int {
        guard canSegment, unsegmented.isEmpty || !unsegmented.contains(queue[entry].flow.remote) else { return 1 }
        return queue.run(from: entry, limit: UDPSocket.maxSegments)
    }

    /// Writes the prepared messages, which hold the queue's entries from `start` on. Returns the first entry that was
    /// not handled.
    private func write(_ queue: SendQueue, from start: Int, messages filled: Int) -> Int {
        var entry = start
        var sent = 0
        while sent < filled {
            let result = Int(net_send_batch(descriptor, messages + sent, UInt32(filled - sent)))
            // `errno` refers to the first message that the system did not accept.
            let error = errno
            if result > 0 {
                for _ in 0..<result {
                    let run = run(in: queue, from: entry)
                    if run > 1 { segmented &+= 1 }
                    entry += run
                }
                sent += result
                continue
            }
            let run = run(in: queue, from: entry)
            let mayBeSegmentation = run > 1 && [EIO, EINVAL, EOPNOTSUPP, EMSGSIZE].contains(error)
            switch error {
            case EINTR: continue
            case EAGAIN, ENOBUFS:
                while sent < filled {
                    let run = self.run(in: queue, from: entry)
                    increment(counters.droppedOut, run)
                    entry += run
                    sent += 1
                }
            case _ where mayBeSegmentation:
                // The segmentation may be the cause: from here on this destination gets one datagram per message.
                increment(counters.segmentationRefusals)
                if unsegmented.count >= UDPSocket.mostUnsegmented { unsegmented.removeAll() }
                unsegmented.insert(queue[entry].flow.remote)
                return entry
            default:
                // One unreachable destination (EHOSTUNREACH, ENETUNREACH, EPERM …) costs only its own message.
                increment(counters.droppedOut, run)
                entry += run
                sent += 1
            }
        }
        return entry
    }

    private func prepare(_ slot: Int, queue: SendQueue, entry: Int, run: Int) {
        let item = queue[entry]
        let length =
            run == 1 ? item.length : queue[entry + run - 1].offset + queue[entry + run - 1].length - item.offset
        vectors[slot] = iovec(iov_base: queue.base + item.offset, iov_len: length)
        let nameLength = item.flow.remote.write(to: names + slot, family: family)
        messages[slot].msg_hdr = msghdr(
            msg_name: names + slot, msg_namelen: nameLength, msg_iov: vectors + slot, msg_iovlen: 1, msg_control: nil,
            msg_controllen: 0, msg_flags: 0)
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            let size = item.flow.local.ip.write(to: base)
            net_set_control(
                &messages[slot].msg_hdr, controls + slot * Int(kNetControlSize), base, size,
                run > 1 ? Int32(item.length) : 0)
        }
    }
}
