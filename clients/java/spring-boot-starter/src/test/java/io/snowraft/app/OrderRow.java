package io.snowraft.app;

import com.baomidou.mybatisplus.annotation.TableName;

/** An entity of MyBatis-Plus, whose IDs are assigned by default. */
@TableName("orders")
class OrderRow {
    Long id;
    String item = "tea";
}
