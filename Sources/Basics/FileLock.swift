import Glibc

/// The lock of an open file (`flock`) that keeps other processes of the same program away from it.
package enum FileLock {
    /// Locks the file for as long as the descriptor is open. Returns false where another process holds the lock; on a
    /// file system without locks it returns true.
    package static func take(_ descriptor: Int32) -> Bool {
        flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    }

    /// Releases the lock and closes the file.
    ///
    /// The lock belongs to the open file, not to the descriptor: a child that is spawned at this moment has a copy of the
    /// descriptor until its program begins, and a lock that is only closed stays until then.
    package static func release(_ descriptor: Int32) {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
