import CThreads

/// What the process holds of the machine's memory.
public enum SystemMemory {
    /// Gives back what the allocator keeps of memory that nobody uses any more. Holds up other threads' allocations for
    /// some milliseconds: for quiet moments.
    public static func release() { threads_release_memory() }

    /// To be called once, at the start: what rooms take for pictures goes back to the system as soon as they give it
    /// up.
    ///
    /// glibc maps large blocks, but raises the size from which it does (up to 32 MB) with each one that is freed: from
    /// the first room's end on pictures and encoders lie in the arenas, between small blocks that stay, and the process
    /// keeps the peak of every arena. With the size fixed the soak test's server holds 170 MB between the rooms where
    /// it held 310. Steady calls take no such blocks: pictures come from pools.
    public static func mapPictures() { threads_map_blocks_from(pictureBytes) }

    /// 256 KiB: a picture of 640×360 has 337 KiB.
    private static let pictureBytes: Int32 = 256 << 10
}
