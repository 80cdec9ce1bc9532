import COpenSSL
import Glibc

/// What lies between OpenSSL and the network: one datagram going in at a time, one a write coming out, and OpenSSL's timer.
///
/// A memory BIO is a stream: it would merge a flight into one blob larger than the path takes.
final class DatagramBIO {
    /// The datagram that OpenSSL may read next; valid only while `DTLSTransport` is inside OpenSSL.
    var inbound: UnsafeRawBufferPointer?
    /// Datagrams to send.
    var outbound: [[UInt8]] = []
    /// The largest datagram, in bytes.
    let mtu: Int
    /// Whether OpenSSL stopped its retransmission timer since this was last cleared: the peer has answered.
    var timerStopped = false
    /// Whether OpenSSL started it, after any stop: a flight went out.
    var timerStarted = false

    /// OpenSSL's own expiry time, inside its connection object, of which it tells the BIO whenever it changes.
    private var expiry: UnsafeMutablePointer<timeval>?

    /// Seconds since 1970 that never come, within 32 bits.
    private static let never = 0x7FFF_FFFF

    init(mtu: Int) {
        self.mtu = mtu
    }

    /// Makes OpenSSL believe that its timer has run out. False when none is running.
    ///
    /// OpenSSL measures its timer with the wall clock. But on every start and stop it hands the BIO a pointer to the expiry time
    /// (`BIO_CTRL_DGRAM_SET_NEXT_TIMEOUT`), meant for a socket's receive timeout. Writing through it replaces that clock by ours:
    /// "never" at each start, "long ago" when the time that we were given says so. A timer callback that returns next to nothing
    /// would not do: OpenSSL retransmits on its own whenever a read finds nothing and its timer has run out.
    func expireTimer() -> Bool {
        guard let expiry, expiry.pointee.tv_sec != 0 else { return false }
        expiry.pointee = timeval(tv_sec: 1, tv_usec: 0)
        return true
    }

    private func timerChanged(_ pointer: UnsafeMutableRawPointer) {
        let expiry = pointer.assumingMemoryBound(to: timeval.self)
        self.expiry = expiry
        if expiry.pointee.tv_sec == 0, expiry.pointee.tv_usec == 0 {
            timerStopped = true
            timerStarted = false
        } else {
            expiry.pointee = timeval(tv_sec: Self.never, tv_usec: 0)
            timerStarted = true
        }
    }

    /// Makes the BIO. It does not keep this object alive: `DTLSTransport` owns both and frees the BIO first.
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

    /// Filled once and only read afterwards.
    nonisolated(unsafe) private static let method: OpaquePointer? = {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams") else { return nil }
        BIO_meth_set_write(method) { bio, bytes, count in
            guard let self = DatagramBIO.of(bio), let bytes, count > 0 else { return -1 }
            self.outbound.append(Array(UnsafeRawBufferPointer(start: bytes, count: Int(count))))
            return count
        }
        BIO_meth_set_read(method) { bio, bytes, capacity in
            ossl_clear_retry(bio)
            guard let self = DatagramBIO.of(bio), let bytes, capacity > 0, let datagram = self.inbound,
                let source = datagram.baseAddress
            else {
                // Zero would mean the end of the stream.
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
