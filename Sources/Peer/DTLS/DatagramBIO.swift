import COpenSSL
import Glibc

/// The BIO between OpenSSL and the network: reads one datagram at a time, packs what is written into datagrams, and
/// controls OpenSSL's timer.
///
/// A memory BIO is a stream: it would merge a flight into one block larger than the path's MTU. OpenSSL writes a flight
/// that it repeats record by record, each of which could get lost alone, and a Finished without its ChangeCipherSpec is
/// of no use: the records of a flight share datagrams as far as they fit (RFC 6347 §4.1.1).
final class DatagramBIO {
    /// The datagram that OpenSSL may read next; valid only while `DTLSTransport` is inside OpenSSL.
    var inbound: UnsafeRawBufferPointer?
    /// Datagrams to send.
    var outbound: [[UInt8]] = []
    /// Whether a record may join the datagram before it: those of the handshake.
    var packs = true
    /// The largest datagram, in bytes.
    let mtu: Int
    /// Whether OpenSSL stopped its retransmission timer since this was last cleared: the peer has answered.
    var timerStopped = false
    /// Whether OpenSSL started the timer after any stop: a flight was sent.
    var timerStarted = false

    /// How our clock drives OpenSSL's retransmission timer.
    enum Timer {
        /// OpenSSL before 3.2: each start and stop passes the BIO a pointer to the expiry time inside the connection
        /// object (`BIO_CTRL_DGRAM_SET_NEXT_TIMEOUT`, meant for a socket's receive timeout), which lives as long as the
        /// connection. Writing through it replaces the wall clock by ours: a time that never comes at each start, and
        /// one long past when `advance` reaches the deadline. A timer callback that returns almost nothing would not
        /// work: OpenSSL retransmits by itself whenever a read finds nothing and its timer has expired.
        case shared
        /// OpenSSL from 3.2 on: the pointer refers to a copy on the caller's stack. It is read during the call and not
        /// stored; nothing is written. The timer runs by the wall clock, for the time that we set
        /// (`DTLS_set_timer_cb`).
        case copied

        static let ofThisLibrary: Timer = OpenSSL_version_num() < 0x3020_0000 ? .shared : .copied
    }

    let timer: Timer
    /// With `.shared`: OpenSSL's own expiry time, inside its connection object.
    private var expiry: UnsafeMutablePointer<timeval>?
    /// With `.copied`: the timer's length after a first flight and its maximum, in microseconds.
    var firstWait: UInt32 = 1_000_000
    var longestWait: UInt32 = 60_000_000

    /// Seconds since 1970 that are never reached, within 32 bits.
    private static let never = 0x7FFF_FFFF

    init(mtu: Int, timer: Timer = .ofThisLibrary) {
        self.mtu = mtu
        self.timer = timer
    }

    /// Makes OpenSSL regard its timer as expired. False if no timer is running, or its expiry time cannot be set.
    func expireTimer() -> Bool {
        guard let expiry, expiry.pointee.tv_sec != 0 else { return false }
        expiry.pointee = timeval(tv_sec: 1, tv_usec: 0)
        return true
    }

    func timerChanged(_ pointer: UnsafeMutableRawPointer) {
        let expiry = pointer.assumingMemoryBound(to: timeval.self)
        let isStopped = expiry.pointee.tv_sec == 0 && expiry.pointee.tv_usec == 0
        if isStopped { timerStopped = true }
        timerStarted = !isStopped
        guard timer == .shared else { return }
        self.expiry = expiry
        if !isStopped { expiry.pointee = timeval(tv_sec: Self.never, tv_usec: 0) }
    }

    /// With `.copied`: sets the callback that returns the length of OpenSSL's timer, after a first flight (0) or after
    /// a repeated one.
    func install(on ssl: OpaquePointer) {
        guard timer == .copied else { return }
        DTLS_set_timer_cb(ssl) { ssl, last in
            guard let self = DatagramBIO.of(SSL_get_rbio(ssl)) else { return 1_000_000 }
            return last == 0 ? self.firstWait : min(last > UInt32.max / 2 ? last : last * 2, self.longestWait)
        }
    }

    /// Creates the BIO. The BIO does not retain this object: `DTLSTransport` owns both and frees the BIO first.
    func make() -> OpaquePointer? {
        guard let method = Self.method, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    private static func of(_ bio: OpaquePointer?) -> DatagramBIO? {
        guard let data = BIO_get_data(bio) else { return nil }
        return Unmanaged<DatagramBIO>.fromOpaque(data).takeUnretainedValue()
    }

    /// Initialized once and only read afterwards.
    nonisolated(unsafe) private static let method: OpaquePointer? = {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams") else { return nil }
        BIO_meth_set_write(method) { bio, bytes, count in
            guard let self = DatagramBIO.of(bio), let bytes, count > 0 else { return -1 }
            let record = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            if self.packs, let last = self.outbound.last, last.count + record.count <= self.mtu {
                self.outbound[self.outbound.count - 1] += record
            } else {
                self.outbound.append(Array(record))
            }
            return count
        }
        BIO_meth_set_read(method) { bio, bytes, capacity in
            ossl_clear_retry(bio)
            guard let self = DatagramBIO.of(bio), let bytes, capacity > 0, let datagram = self.inbound,
                let source = datagram.baseAddress
            else {
                // 0 would mean the end of the stream.
                ossl_set_retry_read(bio)
                return -1
            }
            self.inbound = nil
            let count = min(datagram.count, Int(capacity))
            memcpy(bytes, source, count)
            return Int32(truncatingIfNeeded: count)
        }
        BIO_meth_set_ctrl(method) { bio, command, _, pointer in
            guard let self = DatagramBIO.of(bio) else { return 0 }
            switch command {
            case BIO_CTRL_FLUSH, BIO_CTRL_DUP: return 1
            case BIO_CTRL_DGRAM_QUERY_MTU, BIO_CTRL_DGRAM_GET_FALLBACK_MTU: return self.mtu
            // The MTU that we set counts DTLS bytes only.
            case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD: return 0
            case BIO_CTRL_DGRAM_SET_NEXT_TIMEOUT:
                if let pointer { self.timerChanged(pointer) }
                return 1
            default: return 0
            }
        }
        return method
    }()
}
